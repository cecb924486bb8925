package dev.sluice.wal;

import java.io.IOException;
import java.nio.file.Path;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * What has to be remembered beside the frames: lines, each durable before the call returns, read
 * back at the next start, and now and then replaced by fewer that say the same.
 *
 * <p>Has bytes in reserve, so that it can still be written on a full disk for a while. Safe for use
 * by many threads; all methods block.
 */
final class Journal implements AutoCloseable {
  private Journal() {}

  /**
   * @param replay is given every whole line in order; a torn last one is cut off
   * @throws IOException also when a line before the last is damaged
   */
  static Journal open(Path file, Consumer<String> replay) throws IOException {
    throw new UnsupportedOperationException();
  }

  /**
   * Adds a line, whole or not at all.
   *
   * @param line without a line break
   */
  void append(String line) throws IOException {
    throw new UnsupportedOperationException();
  }

  /**
   * Replaces everything by what says the same, when there is much more than was needed; atomically.
   *
   * @param lines asked for only when it is worth it
   */
  void compact(Supplier<Iterable<String>> lines) throws IOException {
    throw new UnsupportedOperationException();
  }

  @Override
  public void close() {
    throw new UnsupportedOperationException();
  }
}
