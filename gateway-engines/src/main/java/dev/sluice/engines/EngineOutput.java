package dev.sluice.engines;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The output of an engine on stdout and stderr: the last {@value #MAX_LINES} lines in memory, and
 * all lines in a file. The file is truncated at each start and when it exceeds {@link
 * #MAX_FILE_BYTES}, so that an engine that logs much never fills the disk.
 *
 * <p>Methods never throw: an engine must not stop because its output cannot be written.
 */
final class EngineOutput implements AutoCloseable {

  private static final int MAX_LINES = 50;
  private static final int MAX_LINE_CHARS = 1000;
  private static final int MAX_FILE_BYTES = 1 << 20;

  private final Path file;
  private final Deque<String> recentLines = new ArrayDeque<>();
  private @Nullable OutputStream out;
  private int written;

  EngineOutput(Path file) {
    this.file = file;
    open();
  }

  synchronized void add(String text) {
    String line = text.length() > MAX_LINE_CHARS ? text.substring(0, MAX_LINE_CHARS) : text;
    if (recentLines.size() == MAX_LINES) {
      recentLines.removeFirst();
    }
    recentLines.addLast(line);
    if (written > MAX_FILE_BYTES) {
      close();
      open();
    }
    if (out != null) {
      byte[] bytes = (line + "\n").getBytes(StandardCharsets.UTF_8);
      written += bytes.length;
      try {
        out.write(bytes);
      } catch (IOException _) {
        close();
      }
    }
  }

  synchronized List<String> lines() {
    return List.copyOf(recentLines);
  }

  /** Returns the last {@code count} lines that are not blank, joined by {@code " | "}. */
  String tail(int count) {
    List<String> nonBlank = lines().stream().map(String::strip).filter(l -> !l.isEmpty()).toList();
    return nonBlank.isEmpty()
        ? "no output"
        : String.join(
            " | ", nonBlank.subList(Math.max(0, nonBlank.size() - count), nonBlank.size()));
  }

  @Override
  public synchronized void close() {
    if (out != null) {
      try {
        out.close();
      } catch (IOException _) {
        // only log output is lost
      }
      out = null;
    }
  }

  private void open() {
    written = 0;
    try {
      Files.deleteIfExists(file); // an earlier one may have other permissions
      Files.createFile(file, PosixFilePermissions.asFileAttribute(EngineDataDir.OWNER_READ_WRITE));
      out = Files.newOutputStream(file);
    } catch (IOException _) {
      out = null;
    }
  }
}
