package dev.sluice.api.boot;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.port.Scheduler;
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
import java.util.List;
import java.util.concurrent.Executor;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A list as a file, in lines of UTF-8. Who watches it has a changed file's list within a second; a
 * file that cannot be used leaves the list as it was.
 */
final class WatchedFile<T> implements Supplier<T> {
  private static final Logger LOG = LoggerFactory.getLogger(WatchedFile.class);
  private static final Duration INTERVAL = Duration.ofSeconds(1);

  /** Files that are small enough are read at each look: their times may be too coarse to tell. */
  private static final int SMALL = 64 << 10;

  /** What is in such a file. */
  interface Content<T> {
    /** The setting that names the file. */
    String setting();

    /** What the list is called in messages, as their subject. */
    String title();

    int mostLines();

    int mostBytes();

    /**
     * @throws IOException when the lines cannot be used; its message goes on from the file's name
     */
    T parse(List<String> lines) throws IOException;

    /** The list counts from now on, which whoever runs the gateway should hear of. */
    void inForce(Path path, T list);
  }

  private final Path path;
  private final Content<T> of;
  private Stamp stamp;
  private byte[] content;
  private @Nullable String trouble;
  private volatile T list;

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

  private WatchedFile(Path path, Content<T> of) throws IOException {
    this.path = path;
    this.of = of;
    stamp = Stamp.of(path);
    content = content();
    list = parse(content);
    of.inForce(path, list);
  }

  /**
   * Reads the list for the first time.
   *
   * @throws IllegalArgumentException when it cannot be used, naming the setting
   */
  static <T> WatchedFile<T> read(Path path, Content<T> of) {
    try {
      return new WatchedFile<>(path, of);
    } catch (IOException e) {
      throw new IllegalArgumentException(
          "%s is %s, which %s".formatted(of.setting(), path, reason(e)), e);
    }
  }

  @Override
  public T get() {
    return list;
  }

  /**
   * Looks at the file once a second from now on.
   *
   * @param reading where files are read: the timer's thread has others to serve
   */
  void watch(Scheduler scheduler, Executor reading) {
    try {
      scheduler.schedule(
          INTERVAL,
          () ->
              reading.execute(
                  () -> {
                    try {
                      look();
                    } finally {
                      watch(scheduler, reading);
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
        LOG.warn("{} stays as it was: {} {}", of.title(), path, reason);
      }
      trouble = reason;
    } catch (RuntimeException e) { // nobody else would hear of it
      LOG.warn("{} stays as it was", of.title(), e);
    }
  }

  private void renew(Stamp now, byte[] bytes) throws IOException {
    if (!Arrays.equals(bytes, content)) {
      list = parse(bytes);
      content = bytes;
      of.inForce(path, list);
    } else if (trouble != null) {
      LOG.info("{} {} can be read again", of.title(), path);
    }
    stamp = now;
    trouble = null;
  }

  private byte[] content() throws IOException {
    try (var in = Files.newInputStream(path)) {
      var bytes = in.readNBytes(of.mostBytes() + 1);
      if (bytes.length > of.mostBytes()) {
        throw new IOException("has more than " + (of.mostBytes() >> 20) + " MB");
      }
      return bytes;
    }
  }

  private T parse(byte[] bytes) throws IOException {
    String text;
    try {
      text = UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (CharacterCodingException e) {
      throw new IOException("is not UTF-8", e);
    }
    if (text.lines().skip(of.mostLines()).findAny().isPresent()) {
      throw new IOException("has more than " + of.mostLines() + " lines");
    }
    var marked = text.startsWith("\uFEFF") ? text.substring(1) : text;
    return of.parse(marked.lines().toList());
  }

  private static String reason(IOException e) {
    return e instanceof NoSuchFileException
        ? "is not there"
        : e.getClass() == IOException.class
            ? String.valueOf(e.getMessage())
            : "cannot be read: " + e;
  }
}
