package dev.sluice.api.boot;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.ingest.AllowList;
import dev.sluice.core.port.Timer;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An allow list as a file: one message a line, in UTF-8; lines that are blank or begin with {@code
 * #} are none. Who watches it has a changed file's list within a second; a file that cannot be used
 * leaves the list as it was.
 */
final class AllowListFile implements Supplier<AllowList> {
  static final int MOST_LINES = 100_000;
  static final int MOST_BYTES = 16 << 20;

  private static final Logger LOG = LoggerFactory.getLogger(AllowListFile.class);
  private static final Duration INTERVAL = Duration.ofSeconds(1);

  /** Files that are small enough are read at each look: their times may be too coarse to tell. */
  private static final int SMALL = 64 << 10;

  private final Path path;
  private Stamp stamp;
  private byte[] content;
  private @Nullable String trouble;
  private volatile AllowList list;

  /** What changes with a file, as a rule. */
  private record Stamp(FileTime modified, long size, @Nullable Object key) {
    static Stamp of(Path path) throws IOException {
      var attributes = Files.readAttributes(path, BasicFileAttributes.class);
      if (!attributes.isRegularFile()) { // one that never ends would never be read
        throw new IOException("is no file");
      }
      return new Stamp(attributes.lastModifiedTime(), attributes.size(), attributes.fileKey());
    }
  }

  private AllowListFile(Path path) throws IOException {
    this.path = path;
    stamp = Stamp.of(path);
    content = content();
    list = parse(content);
    tell();
  }

  /**
   * Reads the list for the first time.
   *
   * @throws IllegalArgumentException when it cannot be used, naming the setting
   */
  static AllowListFile read(Path path) {
    try {
      return new AllowListFile(path);
    } catch (IOException e) {
      throw new IllegalArgumentException(
          "sluice.filter.file is %s, which %s".formatted(path, reason(e)), e);
    }
  }

  @Override
  public AllowList get() {
    return list;
  }

  /**
   * Looks at the file once a second from now on.
   *
   * @param reading where files are read: the timer's thread has others to serve
   */
  void watch(Timer timer, Executor reading) {
    try {
      timer.after(
          INTERVAL,
          () ->
              reading.execute(
                  () -> {
                    try {
                      look();
                    } finally {
                      watch(timer, reading);
                    }
                  }));
    } catch (RuntimeException _) {
      // the timer is shutting down, and so are we
    }
  }

  /** One at a time: the next is not due before it ends. */
  private void look() {
    try {
      var now = Stamp.of(path);
      if (!now.equals(stamp) || now.size() <= SMALL || trouble != null) {
        renew(now, content());
      }
    } catch (IOException e) {
      var reason = reason(e);
      if (!reason.equals(trouble)) {
        LOG.warn("the allow list stays as it was: {} {}", path, reason);
      }
      trouble = reason;
    } catch (RuntimeException e) { // nobody else would hear of it
      LOG.warn("the allow list stays as it was", e);
    }
  }

  private void renew(Stamp now, byte[] bytes) throws IOException {
    if (!Arrays.equals(bytes, content)) {
      list = parse(bytes);
      content = bytes;
      tell();
    } else if (trouble != null) {
      LOG.info("the allow list {} can be read again", path);
    }
    stamp = now;
    trouble = null;
  }

  private void tell() {
    if (list.size() == 0) {
      LOG.warn("the allow list {} is empty: no logs are taken", path);
    } else {
      LOG.info("logs are taken that are on the allow list {}: {} messages", path, list.size());
    }
  }

  private byte[] content() throws IOException {
    try (var in = Files.newInputStream(path)) {
      var bytes = in.readNBytes(MOST_BYTES + 1);
      if (bytes.length > MOST_BYTES) {
        throw new IOException("has more than " + (MOST_BYTES >> 20) + " MB");
      }
      return bytes;
    }
  }

  private static AllowList parse(byte[] bytes) throws IOException {
    String text;
    try {
      text = UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (CharacterCodingException e) {
      throw new IOException("is not UTF-8", e);
    }
    if (text.lines().skip(MOST_LINES).findAny().isPresent()) {
      throw new IOException("has more than " + MOST_LINES + " lines");
    }
    var marked = text.startsWith("\uFEFF") ? text.substring(1) : text;
    return AllowList.of(
        marked.lines().filter(line -> !line.isBlank() && !line.startsWith("#")).toList());
  }

  private static String reason(IOException e) {
    return e instanceof NoSuchFileException
        ? "is not there"
        : e.getClass() == IOException.class
            ? String.valueOf(e.getMessage())
            : "cannot be read: " + e;
  }
}
