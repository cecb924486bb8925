package dev.sluice.wal;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.sluice.wal.SegmentLog.IndexEntry;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/**
 * The segment that is being written. Truncates a partial write. After a failure that leaves the
 * content of its files unknown, it is {@link #isFailed failed} and must not be appended to. For use
 * by one thread.
 */
final class ActiveSegment implements Closeable {
  private final SegmentName name;
  private final Instant openedAt;
  private final Disk.AppendFile data;
  private final Disk.AppendFile index;
  private final ByteBuffer buffer;
  private Extent extent;
  private boolean unforced;
  private boolean failed;
  private boolean partialWrite;

  private ActiveSegment(
      SegmentName name,
      Instant openedAt,
      Disk.AppendFile data,
      Disk.AppendFile index,
      ByteBuffer buffer) {
    this.name = name;
    this.openedAt = openedAt;
    this.data = data;
    this.index = index;
    this.buffer = buffer;
    this.extent = new Extent(name, 0, 0, 0, 0);
  }

  /**
   * Creates the files of a segment and makes them durable.
   *
   * @param buffer the write buffer, which the caller owns
   */
  static ActiveSegment create(
      Path node, SegmentName name, Disk disk, Instant now, ByteBuffer buffer) throws IOException {
    var directory = name.directory(node);
    if (Files.notExists(directory)) {
      OwnerOnly.createDirectories(directory);
      disk.force(node);
    }
    var data = disk.create(name.data(node));
    try {
      var index = disk.create(name.index(node));
      try {
        disk.force(directory);
        return new ActiveSegment(name, now, data, index, buffer);
      } catch (IOException | RuntimeException e) {
        index.close();
        Files.deleteIfExists(name.index(node));
        throw e;
      }
    } catch (IOException | RuntimeException e) {
      data.close();
      Files.deleteIfExists(name.data(node));
      throw e;
    }
  }

  /**
   * Writes all frames and their index lines, or none. The frames are written, and forced, before
   * their lines.
   *
   * @param force whether to make them durable
   */
  void append(List<Frame> frames, boolean force) throws IOException {
    var lines = indexEntries(frames);
    var text = new StringBuilder();
    lines.forEach(line -> text.append(IndexLine.format(name, line)));
    var lineBytes = text.toString().getBytes(ISO_8859_1);
    try {
      write(data, frames.stream().map(Frame::bytes).toList(), extent.bytes());
      if (force) {
        force(data);
      }
      write(index, List.of(lineBytes), extent.indexBytes());
      if (force) {
        force(index);
      }
    } catch (IOException | RuntimeException e) {
      partialWrite = true;
      truncatePartialWrite();
      throw e;
    }
    unforced |= !force;
    var last = lines.getLast();
    extent =
        new Extent(
            name,
            last.offset() + last.length(),
            extent.indexBytes() + lineBytes.length,
            last.position().frame(),
            extent.records() + lines.stream().mapToLong(IndexEntry::records).sum());
  }

  private List<IndexEntry> indexEntries(List<Frame> frames) {
    var lines = new ArrayList<IndexEntry>(frames.size());
    long offset = extent.bytes();
    int number = extent.frames();
    for (var frame : frames) {
      lines.add(
          new IndexEntry(
              name.position(++number),
              offset,
              frame.bytes().length,
              frame.records(),
              frame.firstNanos(),
              frame.lastNanos(),
              frame.crc32()));
      offset += frame.bytes().length;
    }
    return lines;
  }

  /**
   * Writes arrays through the buffer: many small ones in one write, a large one in several, because
   * the JDK copies the bytes of each write.
   */
  private void write(Disk.AppendFile file, List<byte[]> arrays, long offset) throws IOException {
    long next = offset;
    buffer.clear();
    for (var array : arrays) {
      for (int from = 0; from < array.length; ) {
        int length = Math.min(array.length - from, buffer.remaining());
        buffer.put(array, from, length);
        from += length;
        if (!buffer.hasRemaining()) {
          next += drain(file, next);
        }
      }
    }
    drain(file, next);
  }

  private int drain(Disk.AppendFile file, long offset) throws IOException {
    int bytes = buffer.flip().remaining();
    if (bytes > 0) {
      file.write(buffer, offset);
    }
    buffer.clear();
    return bytes;
  }

  private void force(Disk.AppendFile file) throws IOException {
    try {
      file.force();
    } catch (IOException | RuntimeException e) {
      // after a failed fsync the system drops the pages: a second fsync would succeed without them
      failed = true;
      throw e;
    }
  }

  /**
   * Truncates the partial write of a failed append.
   *
   * @return whether no part of it remains
   */
  boolean truncatePartialWrite() {
    if (partialWrite) {
      try {
        data.truncate(extent.bytes());
        index.truncate(extent.indexBytes());
        partialWrite = false;
      } catch (IOException _) {
        failed = true;
      }
    }
    return !partialWrite;
  }

  /** Makes all written frames and lines durable. */
  void force() throws IOException {
    if (unforced) {
      force(data);
      force(index);
      unforced = false;
    }
  }

  /** Whether the segment must not be appended to. */
  boolean isFailed() {
    return failed;
  }

  Instant openedAt() {
    return openedAt;
  }

  Extent extent() {
    return extent;
  }

  @Override
  public void close() throws IOException {
    try (data;
        index) {
      // closes both files, even when one of them fails
    }
  }
}
