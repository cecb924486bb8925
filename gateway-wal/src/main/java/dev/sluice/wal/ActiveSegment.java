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
 * The segment that is written. What could not be written whole is cut off again. After a failure
 * that leaves its content in doubt it takes nothing any more. For one thread.
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
   * Makes the files, durably.
   *
   * @param buffer through which everything is written
   */
  static ActiveSegment create(
      Path node, SegmentName name, Disk disk, Instant now, ByteBuffer buffer) throws IOException {
    var folder = name.folder(node);
    if (Files.notExists(folder)) {
      Files.createDirectories(folder);
      disk.force(node);
    }
    var data = disk.create(name.data(node));
    try {
      var index = disk.create(name.index(node));
      try {
        disk.force(folder);
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
   * Writes frames and their lines, all or none.
   *
   * @param force whether to make them durable
   */
  void append(List<Frame> frames, boolean force) throws IOException {
    var lines = indexEntries(frames);
    var text = new StringBuilder();
    lines.forEach(line -> text.append(IndexLine.format(name, line)));
    var indexed = text.toString().getBytes(ISO_8859_1);
    try {
      write(data, frames.stream().map(Frame::bytes).toList(), extent.bytes());
      if (force) {
        force(data);
      }
      write(index, List.of(indexed), extent.indexBytes());
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
            extent.indexBytes() + indexed.length,
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
   * Many small ones in one write; a large one in several, since the system holds a copy of each.
   */
  private void write(Disk.AppendFile file, List<byte[]> pieces, long at) throws IOException {
    long next = at;
    buffer.clear();
    for (var piece : pieces) {
      for (int from = 0; from < piece.length; ) {
        int taken = Math.min(piece.length - from, buffer.remaining());
        buffer.put(piece, from, taken);
        from += taken;
        if (!buffer.hasRemaining()) {
          next += drain(file, next);
        }
      }
    }
    drain(file, next);
  }

  private int drain(Disk.AppendFile file, long at) throws IOException {
    int bytes = buffer.flip().remaining();
    if (bytes > 0) {
      file.write(buffer, at);
    }
    buffer.clear();
    return bytes;
  }

  private void force(Disk.AppendFile file) throws IOException {
    try {
      file.force();
    } catch (IOException | RuntimeException e) {
      // the system has forgotten what it could not write: asking again would say that all is well
      failed = true;
      throw e;
    }
  }

  /**
   * Cuts off what a failed append has left.
   *
   * @return whether there is nothing of it any more
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

  /** Makes durable what is not. */
  void force() throws IOException {
    if (unforced) {
      force(data);
      force(index);
      unforced = false;
    }
  }

  /** Whether nothing may be appended any more. */
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
      // both, whatever comes of either
    }
  }
}
