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
 * What has to be remembered beside the frames: lines, each durable before the call returns, read
 * back at the next start, and now and then replaced by fewer that say the same.
 *
 * <p>Each line begins with its checksum. Has bytes in reserve, so that it can still be written on a
 * full disk for a while: what drains the disk has to be written down first. Safe for use by many
 * threads; all methods block, and none minds an interrupt.
 */
final class Journal implements AutoCloseable {

  /** Brings bytes to the end of a file; what a full disk does is told by it. */
  @FunctionalInterface
  interface WriteFunction {
    void write(RandomAccessFile file, byte[] bytes) throws IOException;
  }

  /** What a start learns from the lines. */
  @FunctionalInterface
  interface LineConsumer {
    /**
     * @throws IOException when the line means nothing to it; then the journal cannot be opened
     */
    void accept(String line) throws IOException;
  }

  static final int RESERVE_BYTES = 4 << 20;

  private static final Logger LOG = LoggerFactory.getLogger(Journal.class);

  /** The checksum in hexadecimal and a space. */
  private static final int CHECKSUM_PREFIX_LENGTH = 9;

  /** A journal below that is not worth replacing. */
  private static final long MIN_COMPACT_BYTES = 4 << 20;

  private static final int COMPACT_GROWTH_FACTOR = 4;

  /** While there is less room than that, it is left to others. */
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
   * @param consumer is given every whole line in order; a torn last one is cut off
   * @throws IOException also when a line before the last is damaged
   */
  static Journal open(Path file, LineConsumer consumer) throws IOException {
    return open(file, consumer, RandomAccessFile::write);
  }

  static Journal open(Path path, LineConsumer consumer, WriteFunction writeFunction)
      throws IOException {
    Files.deleteIfExists(temporary(path)); // not finished, so never in force
    boolean fresh = !Files.exists(path);
    var file = new RandomAccessFile(path.toFile(), "rw");
    try {
      long end = fresh ? 0 : replay(path, consumer);
      if (end < file.length()) {
        LOG.warn("the last line of {} is torn, {} bytes are cut off", path, file.length() - end);
        file.setLength(end);
      }
      file.getFD().sync();
      if (fresh) {
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

  /** Returns where the last whole line ends. */
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
              "line %d of %s is damaged, and others follow; the file has to be mended by hand"
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

  /** Null when no whole line is left. */
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
   * Adds a line, whole or not at all.
   *
   * @param line without a line break
   */
  synchronized void append(String line) throws IOException {
    byte[] bytes = encode(line);
    try {
      write(bytes);
    } catch (IOException e) {
      if (!Files.deleteIfExists(reserve)) {
        throw e;
      }
      LOG.warn("{} could not be written, its reserve is given up: {}", path, e.toString());
      write(bytes);
    }
    end += bytes.length;
    if (!Files.exists(reserve)) {
      allocateReserve();
    }
  }

  private void write(byte[] bytes) throws IOException {
    try {
      file.setLength(end); // what an earlier failure may have left
      file.seek(end);
      writeFunction.write(file, bytes);
      file.getFD().sync();
    } catch (IOException e) {
      try {
        file.setLength(end);
      } catch (IOException truncateFailure) {
        e.addSuppressed(truncateFailure); // the next append cuts it off, else the next start
      }
      throw e;
    }
  }

  /** The reserve, if there is plenty of room; a journal without one works as well. */
  private void allocateReserve() {
    try {
      if (Files.exists(reserve) && Files.size(reserve) == RESERVE_BYTES) {
        return;
      }
      if (Files.getFileStore(directory(path)).getUsableSpace() < MIN_FREE_FOR_RESERVE) {
        return;
      }
      try (var zeros = new RandomAccessFile(reserve.toFile(), "rw")) {
        writeFunction.write(zeros, new byte[RESERVE_BYTES]); // a hole would hold no bytes
        zeros.getFD().sync();
      }
    } catch (IOException e) {
      LOG.debug("no reserve for {}: {}", path, e.toString());
      boolean _ = reserve.toFile().delete();
    }
  }

  /**
   * Replaces everything by what says the same, when there is much more than was needed; atomically.
   *
   * @param lines asked for only when it is worth it
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

  /** A channel ends with an interrupt, and whoever is interrupted must not leave this half done. */
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
      LOG.warn("{} could not be closed: {}", path, e.toString());
    }
  }
}
