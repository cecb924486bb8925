package dev.sluice.wal;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A disk of so many bytes: what does not fit is written in part, and an error, as a full one does.
 */
final class SmallDisk implements Journal.WriteFunction {
  private final Path directory;
  private long capacity;

  /**
   * @param directory all of whose files are on it
   */
  SmallDisk(Path directory, long capacity) {
    this.directory = directory;
    this.capacity = capacity;
  }

  /** Somebody else takes what is left. */
  void fill() throws IOException {
    capacity = used();
  }

  /** Somebody else gives that much back. */
  void free(long bytes) {
    capacity += bytes;
  }

  @Override
  public void write(RandomAccessFile file, byte[] bytes) throws IOException {
    long room = capacity - used();
    if (room < bytes.length) {
      file.write(bytes, 0, (int) Math.max(0, room));
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
