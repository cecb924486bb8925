package dev.sluice.wal;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.sluice.wal.Segments.Indexed;
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
final class OpenSegment implements Closeable {
  private final SegmentName name;
  private final Instant begun;
  private final Disk.Tail data;
  private final Disk.Tail index;
  private final ByteBuffer buffer;
  private Extent extent;
  private boolean unforced;
  private boolean doubtful;
  private boolean torn;

  private OpenSegment(
      SegmentName name, Instant begun, Disk.Tail data, Disk.Tail index, ByteBuffer buffer) {
    this.name = name;
    this.begun = begun;
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
  static OpenSegment begin(Path node, SegmentName name, Disk disk, Instant now, ByteBuffer buffer)
      throws IOException {
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
        return new OpenSegment(name, now, data, index, buffer);
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
    var lines = index(frames);
    var text = new StringBuilder();
    lines.forEach(line -> text.append(IndexLine.of(name, line)));
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
      torn = true;
      cut();
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
            extent.records() + lines.stream().mapToLong(Indexed::records).sum());
  }

  private List<Indexed> index(List<Frame> frames) {
    var lines = new ArrayList<Indexed>(frames.size());
    long offset = extent.bytes();
    int number = extent.frames();
    for (var frame : frames) {
      lines.add(
          new Indexed(
              name.frame(++number),
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
  private void write(Disk.Tail file, List<byte[]> pieces, long at) throws IOException {
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

  private int drain(Disk.Tail file, long at) throws IOException {
    int bytes = buffer.flip().remaining();
    if (bytes > 0) {
      file.write(buffer, at);
    }
    buffer.clear();
    return bytes;
  }

  private void force(Disk.Tail file) throws IOException {
    try {
      file.force();
    } catch (IOException | RuntimeException e) {
      // the system has forgotten what it could not write: asking again would say that all is well
      doubtful = true;
      throw e;
    }
  }

  /**
   * Cuts off what a failed append has left.
   *
   * @return whether there is nothing of it any more
   */
  boolean cut() {
    if (torn) {
      try {
        data.truncate(extent.bytes());
        index.truncate(extent.indexBytes());
        torn = false;
      } catch (IOException _) {
        doubtful = true;
      }
    }
    return !torn;
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
  boolean isDoubtful() {
    return doubtful;
  }

  Instant begun() {
    return begun;
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
