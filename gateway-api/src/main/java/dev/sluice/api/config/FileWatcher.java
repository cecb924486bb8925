package dev.sluice.api.config;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.port.Scheduler;
import java.io.ByteArrayOutputStream;
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
 * A list that is read from a file of UTF-8 lines, and reloaded when the file changes. After {@link
 * #watch} a change takes effect within about a second. While the file is invalid or missing, the
 * previous list stays in use.
 */
final class FileWatcher<T> implements Supplier<T> {
  private static final Logger LOG = LoggerFactory.getLogger(FileWatcher.class);
  private static final Duration POLL_INTERVAL = Duration.ofSeconds(1);

  /**
   * Smaller files are read at each poll, because the resolution of a modification time can be too
   * coarse to detect two changes.
   */
  private static final int SMALL_FILE_BYTES = 64 << 10;

  /**
   * The names and the limits of such a file.
   *
   * @param setting the setting that names the file
   * @param title the name of the list for log lines
   */
  record FileFormat(String setting, String title, int maxLines, int maxBytes) {}

  /** The format of such a file and the use of its list. */
  interface Handler<T> {
    FileFormat format();

    /**
     * Parses the lines of the file.
     *
     * @throws IOException when a line is invalid; the message names the line and the error
     */
    T parse(List<String> lines) throws IOException;

    /**
     * Returns the text between the files of a directory. When the path is a directory, such as a
     * mounted secret, the list is read from all its files, except hidden ones, in the order of
     * their names. Null when the path must be a file.
     */
    default @Nullable String fileSeparator() {
      return null;
    }

    /** Logs that the list is in use from now on, and passes it on where needed. */
    void onLoaded(Path path, T list);
  }

  private final Path path;
  private final Handler<T> handler;
  private FileVersion version;
  private byte[] content;
  private volatile @Nullable String lastError;
  private volatile T list;

  /** The attributes that normally change when a file changes. */
  private record FileVersion(FileTime modified, long size, @Nullable Object key) {
    /** The version of a directory, whose files are read at each poll. */
    static final FileVersion DIRECTORY = new FileVersion(FileTime.fromMillis(0), 0, null);

    static FileVersion of(Path path, boolean allowsDirectory) throws IOException {
      var attributes = Files.readAttributes(path, BasicFileAttributes.class);
      if (allowsDirectory && attributes.isDirectory()) {
        return DIRECTORY;
      }
      if (!attributes.isRegularFile()) { // the content of a pipe or a device may never end
        throw new IOException("it is not a regular file");
      }
      return new FileVersion(
          attributes.lastModifiedTime(), attributes.size(), attributes.fileKey());
    }
  }

  private FileWatcher(Path path, Handler<T> handler) throws IOException {
    this.path = path;
    this.handler = handler;
    version = FileVersion.of(path, handler.fileSeparator() != null);
    content = readContent();
    list = parse(content);
    handler.onLoaded(path, list);
  }

  /**
   * Reads the list.
   *
   * @throws IllegalArgumentException when the file is invalid; the message names the setting
   */
  static <T> FileWatcher<T> read(Path path, Handler<T> handler) {
    try {
      return new FileWatcher<>(path, handler);
    } catch (IOException e) {
      throw new IllegalArgumentException(
          "%s is %s: %s".formatted(handler.format().setting(), path, reason(e)), e);
    }
  }

  @Override
  public T get() {
    return list;
  }

  /** Returns the reason why the file is not in use as it is now; null when it is. */
  @Nullable String error() {
    return lastError;
  }

  /**
   * Polls the file every second from now on.
   *
   * @param executor the executor of the file reads, which must not block the timer thread
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
      // the timer is shut down, and the gateway with it
    }
  }

  /** Reloads the list when the file has changed. Polls never overlap: each schedules the next. */
  private void poll() {
    try {
      var current = FileVersion.of(path, handler.fileSeparator() != null);
      if (!current.equals(version) || current.size() <= SMALL_FILE_BYTES || lastError != null) {
        reload(current, readContent());
      }
    } catch (IOException e) {
      var reason = reason(e);
      if (!reason.equals(lastError)) {
        LOG.warn(
            "{} not reloaded: {}: {}; the previous list stays in use",
            handler.format().title(),
            path,
            reason);
      }
      lastError = reason;
    } catch (RuntimeException e) { // the executor would drop it
      if (!e.toString().equals(lastError)) {
        LOG.warn(
            "{} not reloaded: {}; the previous list stays in use",
            handler.format().title(),
            path,
            e);
      }
      lastError = e.toString();
    }
  }

  private void reload(FileVersion current, byte[] bytes) throws IOException {
    if (!Arrays.equals(bytes, content)) {
      list = parse(bytes);
      content = bytes;
      handler.onLoaded(path, list);
    } else if (lastError != null) {
      LOG.info("{} readable again: {}", handler.format().title(), path);
    }
    version = current;
    lastError = null;
  }

  private byte[] readContent() throws IOException {
    var separator = handler.fileSeparator();
    if (separator == null || !Files.isDirectory(path)) {
      return readFile(path, handler.format().maxBytes());
    }
    var all = new ByteArrayOutputStream();
    try (var files = Files.list(path)) {
      for (var file : files.filter(FileWatcher::isVisibleFile).sorted().toList()) {
        all.write(readFile(file, handler.format().maxBytes() - all.size()));
        all.write(separator.getBytes(UTF_8));
      }
    }
    return all.toByteArray();
  }

  private static boolean isVisibleFile(Path file) {
    return !String.valueOf(file.getFileName()).startsWith(".") && Files.isRegularFile(file);
  }

  private byte[] readFile(Path file, int maxBytes) throws IOException {
    try (var in = Files.newInputStream(file)) {
      var bytes = in.readNBytes(maxBytes + 1);
      if (bytes.length > maxBytes) {
        throw new IOException("it has more than " + (handler.format().maxBytes() >> 20) + " MB");
      }
      return bytes;
    }
  }

  private T parse(byte[] bytes) throws IOException {
    String text;
    try {
      text = UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (CharacterCodingException e) {
      throw new IOException("it is not UTF-8", e);
    }
    if (text.lines().skip(handler.format().maxLines()).findAny().isPresent()) {
      throw new IOException("it has more than " + handler.format().maxLines() + " lines");
    }
    var withoutByteOrderMark = text.startsWith("\uFEFF") ? text.substring(1) : text;
    return handler.parse(withoutByteOrderMark.lines().toList());
  }

  private static String reason(IOException e) {
    return e instanceof NoSuchFileException
        ? "it does not exist"
        : e.getClass() == IOException.class
            ? String.valueOf(e.getMessage())
            : "it cannot be read: " + e;
  }
}
