package dev.sluice.wal;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.RandomAccessFile;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.HexFormat;
import java.util.function.Supplier;
import java.util.zip.CRC32;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A durable list of text lines. {@link #append} returns when its line is durable, {@link #open}
 * reads all lines, and {@link #compact} replaces them by fewer lines with the same meaning.
 *
 * <p>Each line starts with its checksum. A reserve file is deleted when the disk is full, so that
 * lines can still be written for a while: delivery frees the disk, but must first write lines. Safe
 * for use by many threads; all methods block, and an interrupt has no effect on them.
 */
final class Journal implements AutoCloseable {

  /** Writes bytes at the current position of a file; tests replace it to simulate a full disk. */
  @FunctionalInterface
  interface WriteFunction {
    void write(RandomAccessFile file, byte[] bytes) throws IOException;
  }

  /** A callback for the lines that {@link #open} reads. */
  @FunctionalInterface
  interface LineConsumer {
    /**
     * Processes one line.
     *
     * @throws IOException when the line is invalid; then the journal cannot be opened
     */
    void accept(String line) throws IOException;
  }

  static final int RESERVE_BYTES = 4 << 20;

  private static final Logger LOG = LoggerFactory.getLogger(Journal.class);

  /** Length of the checksum in hexadecimal and a space. */
  private static final int CHECKSUM_PREFIX_LENGTH = 9;

  /** Size in bytes below which a journal is not compacted. */
  private static final long MIN_COMPACT_BYTES = 4 << 20;

  private static final int COMPACT_GROWTH_FACTOR = 4;

  /** Free disk space in bytes below which no reserve is allocated. */
  private static final long MIN_FREE_FOR_RESERVE = 8L * RESERVE_BYTES;

  private final Path path;
  private final Path reserve;
  private final WriteFunction writeFunction;
  private RandomAccessFile file;
  private long end;
  private long compactedSize;

  private Journal(Path path, RandomAccessFile file, long end, WriteFunction writeFunction) {
    this.path = path;
    this.reserve = path.resolveSibling("reserve");
    this.file = file;
    this.end = end;
    this.writeFunction = writeFunction;
  }

  /**
   * Opens a journal, or creates it. Truncates an incomplete last line.
   *
   * @param consumer the callback for every complete line, in order
   * @throws IOException also when a line before the last one is damaged
   */
  static Journal open(Path file, LineConsumer consumer) throws IOException {
    return open(file, consumer, RandomAccessFile::write);
  }

  static Journal open(Path path, LineConsumer consumer, WriteFunction writeFunction)
      throws IOException {
    Files.deleteIfExists(temporary(path)); // left by an incomplete compaction
    boolean created = !Files.exists(path);
    OwnerOnly.createFile(path);
    var file = new RandomAccessFile(path.toFile(), "rw");
    try {
      long end = created ? 0 : replay(path, consumer);
      if (end < file.length()) {
        LOG.warn(
            "journal {}: truncated an incomplete last line of {} bytes", path, file.length() - end);
        file.setLength(end);
      }
      file.getFD().sync();
      if (created) {
        sync(directory(path));
      }
      var journal = new Journal(path, file, end, writeFunction);
      journal.allocateReserve();
      return journal;
    } catch (IOException | RuntimeException e) {
      file.close();
      throw e;
    }
  }

  /** Reads all complete lines and returns the end of the last one, in bytes. */
  static long replay(Path path, LineConsumer consumer) throws IOException {
    long end = 0;
    long position = 0;
    long number = 0;
    long damaged = 0;
    try (var in = new BufferedInputStream(new FileInputStream(path.toFile()), 1 << 16)) {
      for (var line = readLine(in); line != null; line = readLine(in)) {
        number++;
        position += line.length + 1L;
        if (damaged > 0) {
          throw new IOException(
              "line %d of %s is damaged and more lines follow; repair the file manually"
                  .formatted(damaged, path));
        }
        if (isIntact(line)) {
          consumer.accept(
              new String(
                  line, CHECKSUM_PREFIX_LENGTH, line.length - CHECKSUM_PREFIX_LENGTH, UTF_8));
          end = position;
        } else {
          damaged = number;
        }
      }
    }
    return end;
  }

  /** Reads a line; null when no complete line is left. */
  private static byte @Nullable [] readLine(InputStream in) throws IOException {
    var line = new ByteArrayOutputStream();
    for (int b = in.read(); b != '\n'; b = in.read()) {
      if (b < 0) {
        return null;
      }
      line.write(b);
    }
    return line.toByteArray();
  }

  private static boolean isIntact(byte[] line) {
    return line.length >= CHECKSUM_PREFIX_LENGTH
        && new String(line, 0, CHECKSUM_PREFIX_LENGTH, UTF_8)
            .equals(
                checksum(line, CHECKSUM_PREFIX_LENGTH, line.length - CHECKSUM_PREFIX_LENGTH) + " ");
  }

  private static String checksum(byte[] bytes, int from, int length) {
    var crc = new CRC32();
    crc.update(bytes, from, length);
    return HexFormat.of().toHexDigits((int) crc.getValue());
  }

  private static byte[] encode(String line) {
    byte[] text = line.getBytes(UTF_8);
    return (checksum(text, 0, text.length) + " " + line + "\n").getBytes(UTF_8);
  }

  /**
   * Appends a line, completely or not at all.
   *
   * @param line the line, without a line break
   */
  synchronized void append(String line) throws IOException {
    byte[] bytes = encode(line);
    try {
      write(bytes);
    } catch (IOException e) {
      if (!Files.deleteIfExists(reserve)) {
        throw e;
      }
      LOG.warn("journal {}: write failed, retrying without the reserve: {}", path, e.toString());
      write(bytes);
    }
    end += bytes.length;
    if (!Files.exists(reserve)) {
      allocateReserve();
    }
  }

  private void write(byte[] bytes) throws IOException {
    try {
      file.setLength(end); // truncates the rest of an earlier failed write
      file.seek(end);
      writeFunction.write(file, bytes);
      file.getFD().sync();
    } catch (IOException e) {
      try {
        file.setLength(end);
      } catch (IOException truncateFailure) {
        e.addSuppressed(truncateFailure); // the next append or the next start truncates it
      }
      throw e;
    }
  }

  /** Allocates the reserve when enough disk space is free. The journal works without it too. */
  private void allocateReserve() {
    try {
      if (Files.exists(reserve) && Files.size(reserve) == RESERVE_BYTES) {
        return;
      }
      if (Files.getFileStore(directory(path)).getUsableSpace() < MIN_FREE_FOR_RESERVE) {
        return;
      }
      OwnerOnly.createFile(reserve);
      try (var zeros = new RandomAccessFile(reserve.toFile(), "rw")) {
        writeFunction.write(zeros, new byte[RESERVE_BYTES]); // a sparse file would reserve nothing
        zeros.getFD().sync();
      }
    } catch (IOException e) {
      LOG.debug("journal {}: cannot allocate the reserve: {}", path, e.toString());
      boolean _ = reserve.toFile().delete();
    }
  }

  /**
   * Replaces all lines atomically, when the journal is at least 4 MiB and four times as large as
   * after the last compaction.
   *
   * @param lines the supplier of the new lines, called only when the journal is compacted
   */
  synchronized void compact(Supplier<Iterable<String>> lines) throws IOException {
    if (end < Math.max(MIN_COMPACT_BYTES, COMPACT_GROWTH_FACTOR * compactedSize)) {
      return;
    }
    var temporary = temporary(path);
    try {
      writeAll(temporary, lines.get());
      var next = new RandomAccessFile(temporary.toFile(), "rw");
      try {
        Files.move(
            temporary, path, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
      } catch (IOException e) {
        next.close();
        throw e;
      }
      file.close();
      file = next;
      end = next.length();
      compactedSize = end;
      sync(directory(path));
    } finally {
      Files.deleteIfExists(temporary);
    }
  }

  private static void writeAll(Path path, Iterable<String> lines) throws IOException {
    OwnerOnly.createFile(path);
    try (var file = new FileOutputStream(path.toFile());
        var out = new BufferedOutputStream(file, 1 << 16)) {
      for (var line : lines) {
        out.write(encode(line));
      }
      out.flush();
      file.getFD().sync();
    }
  }

  private static Path temporary(Path path) {
    return path.resolveSibling(path.getFileName() + ".new");
  }

  private static Path directory(Path path) {
    return path.toAbsolutePath().resolveSibling("");
  }

  /** Syncs a directory. Repeats the sync when an interrupt closes the channel. */
  private static void sync(Path directory) throws IOException {
    boolean interrupted = false;
    try {
      while (true) {
        try (var channel = FileChannel.open(directory, StandardOpenOption.READ)) {
          channel.force(true);
          return;
        } catch (ClosedByInterruptException _) {
          interrupted |= Thread.interrupted();
        }
      }
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  @Override
  public synchronized void close() {
    try {
      file.close(); // every line is durable already
    } catch (IOException e) {
      LOG.warn("journal {}: cannot close: {}", path, e.toString());
    }
  }
}
