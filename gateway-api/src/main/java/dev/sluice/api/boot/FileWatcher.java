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
final class FileWatcher<T> implements Supplier<T> {
  private static final Logger LOG = LoggerFactory.getLogger(FileWatcher.class);
  private static final Duration POLL_INTERVAL = Duration.ofSeconds(1);

  /** Files that are small enough are read at each look: their times may be too coarse to tell. */
  private static final int SMALL_FILE_BYTES = 64 << 10;

  /** What is in such a file. */
  interface Handler<T> {
    /** The setting that names the file. */
    String setting();

    /** What the list is called in messages, as their subject. */
    String title();

    int maxLines();

    int maxBytes();

    /**
     * @throws IOException when the lines cannot be used; its message goes on from the file's name
     */
    T parse(List<String> lines) throws IOException;

    /** The list counts from now on, which whoever runs the gateway should hear of. */
    void onLoaded(Path path, T list);
  }

  private final Path path;
  private final Handler<T> handler;
  private FileVersion version;
  private byte[] content;
  private @Nullable String lastError;
  private volatile T list;

  /** What changes with a file, as a rule. */
  private record FileVersion(FileTime modified, long size, @Nullable Object key) {
    static FileVersion of(Path path) throws IOException {
      var attributes = Files.readAttributes(path, BasicFileAttributes.class);
      if (!attributes.isRegularFile()) { // one that never ends would never be read
        throw new IOException("is no file");
      }
      return new FileVersion(
          attributes.lastModifiedTime(), attributes.size(), attributes.fileKey());
    }
  }

  private FileWatcher(Path path, Handler<T> handler) throws IOException {
    this.path = path;
    this.handler = handler;
    version = FileVersion.of(path);
    content = readContent();
    list = parse(content);
    handler.onLoaded(path, list);
  }

  /**
   * Reads the list for the first time.
   *
   * @throws IllegalArgumentException when it cannot be used, naming the setting
   */
  static <T> FileWatcher<T> read(Path path, Handler<T> handler) {
    try {
      return new FileWatcher<>(path, handler);
    } catch (IOException e) {
      throw new IllegalArgumentException(
          "%s is %s, which %s".formatted(handler.setting(), path, reason(e)), e);
    }
  }

  @Override
  public T get() {
    return list;
  }

  /**
   * Looks at the file once a second from now on.
   *
   * @param executor where files are read: the timer's thread has others to serve
   */
  void watch(Scheduler scheduler, Executor executor) {
    try {
      scheduler.schedule(
          POLL_INTERVAL,
          () ->
              executor.execute(
                  () -> {
                    try {
                      poll();
                    } finally {
                      watch(scheduler, executor);
                    }
                  }));
    } catch (RuntimeException _) {
      // the timer is shutting down, and so are we
    }
  }

  /** One at a time: the next is not due before it ends. */
  private void poll() {
    try {
      var current = FileVersion.of(path);
      if (!current.equals(version) || current.size() <= SMALL_FILE_BYTES || lastError != null) {
        reload(current, readContent());
      }
    } catch (IOException e) {
      var reason = reason(e);
      if (!reason.equals(lastError)) {
        LOG.warn("{} stays as it was: {} {}", handler.title(), path, reason);
      }
      lastError = reason;
    } catch (RuntimeException e) { // nobody else would hear of it
      LOG.warn("{} stays as it was", handler.title(), e);
    }
  }

  private void reload(FileVersion current, byte[] bytes) throws IOException {
    if (!Arrays.equals(bytes, content)) {
      list = parse(bytes);
      content = bytes;
      handler.onLoaded(path, list);
    } else if (lastError != null) {
      LOG.info("{} {} can be read again", handler.title(), path);
    }
    version = current;
    lastError = null;
  }

  private byte[] readContent() throws IOException {
    try (var in = Files.newInputStream(path)) {
      var bytes = in.readNBytes(handler.maxBytes() + 1);
      if (bytes.length > handler.maxBytes()) {
        throw new IOException("has more than " + (handler.maxBytes() >> 20) + " MB");
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
    if (text.lines().skip(handler.maxLines()).findAny().isPresent()) {
      throw new IOException("has more than " + handler.maxLines() + " lines");
    }
    var withoutByteOrderMark = text.startsWith("\uFEFF") ? text.substring(1) : text;
    return handler.parse(withoutByteOrderMark.lines().toList());
  }

  private static String reason(IOException e) {
    return e instanceof NoSuchFileException
        ? "is not there"
        : e.getClass() == IOException.class
            ? String.valueOf(e.getMessage())
            : "cannot be read: " + e;
  }
}
