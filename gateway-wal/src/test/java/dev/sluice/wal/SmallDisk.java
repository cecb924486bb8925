package dev.sluice.wal;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A disk with a limited capacity. A write that does not fit is written partially and fails, as on a
 * full disk.
 */
final class SmallDisk implements Journal.WriteFunction {
  private final Path directory;
  private long capacity;

  /**
   * @param directory the directory whose files count as used
   * @param capacity the capacity in bytes
   */
  SmallDisk(Path directory, long capacity) {
    this.directory = directory;
    this.capacity = capacity;
  }

  /** Sets the capacity to the used bytes: the disk is full. */
  void fill() throws IOException {
    capacity = used();
  }

  /** Adds capacity, in bytes. */
  void free(long bytes) {
    capacity += bytes;
  }

  @Override
  public void write(RandomAccessFile file, byte[] bytes) throws IOException {
    long available = capacity - used();
    if (available < bytes.length) {
      file.write(bytes, 0, (int) Math.max(0, available));
      throw new IOException("No space left on device");
    }
    file.write(bytes);
  }

  private long used() throws IOException {
    try (var files = Files.walk(directory)) {
      return files.filter(Files::isRegularFile).mapToLong(SmallDisk::size).sum();
    }
  }

  private static long size(Path file) {
    try {
      return Files.size(file);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
