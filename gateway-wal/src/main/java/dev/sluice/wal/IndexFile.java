package dev.sluice.wal;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.sluice.wal.SegmentLog.IndexEntry;
import java.io.Closeable;
import java.io.IOException;
import java.io.Serial;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Reads an index without loading it into memory. Finds a line by binary search, because the lines
 * are in the order of their frames.
 */
final class IndexFile implements Closeable {
  private static final int CHUNK = 1 << 16;

  private final SegmentName segment;
  private final FileChannel channel;
  private final Extent extent;
  private final long size;

  /** A line of the index is damaged; the index needs a repair. */
  static final class DamagedIndexException extends IOException {
    @Serial private static final long serialVersionUID = 1L;

    private DamagedIndexException(SegmentName segment, long offset) {
      super("the index of %s is damaged at byte %d".formatted(segment, offset));
    }
  }

  /** Opens the index; reads only the lines of the extent, because others may be incomplete. */
  IndexFile(Path node, Extent extent) throws IOException {
    this.segment = extent.name();
    this.channel = FileChannel.open(segment.index(node));
    this.extent = extent;
    this.size = extent.indexBytes();
  }

  /**
   * Returns the lines after a frame. Checks each line against its neighbours, including those that
   * are not returned.
   *
   * @param frame the number of the frame; 0 for the start
   * @param limit maximum number of lines, at least 1
   * @throws DamagedIndexException when a line does not match its neighbours
   */
  List<IndexEntry> entriesAfter(int frame, int limit) throws IOException {
    if (frame >= extent.frames()) {
      return List.of();
    }
    int first = Math.max(1, frame);
    int last = (int) Math.min(extent.frames(), frame + 1L + limit);
    var lines = new ArrayList<IndexEntry>();
    for (long offset = seek(first); lines.size() <= last - first; ) {
      offset += parseChunk(read(offset, CHUNK), offset, first, last, lines);
    }
    if (last == extent.frames() && lines.getLast().end() != extent.bytes()) {
      throw new DamagedIndexException(segment, size);
    }
    int from = frame + 1 - first;
    return lines.subList(from, from + Math.min(limit, extent.frames() - frame));
  }

  /**
   * Parses the complete lines of a chunk up to frame {@code last}.
   *
   * @return size of the parsed lines in bytes
   */
  private int parseChunk(byte[] chunk, long offset, int first, int last, List<IndexEntry> lines)
      throws DamagedIndexException {
    int used = 0;
    for (int end = lineEnd(chunk, 0);
        end >= 0 && lines.size() <= last - first;
        end = lineEnd(chunk, used)) {
      var line = IndexLine.parse(segment, new String(chunk, used, end - used, ISO_8859_1));
      if (line == null || !isNext(line, first, lines)) {
        throw new DamagedIndexException(segment, offset + used);
      }
      lines.add(line);
      used = end + 1;
    }
    if (used == 0) {
      throw new DamagedIndexException(segment, offset);
    }
    return used;
  }

  private static boolean isNext(IndexEntry line, int first, List<IndexEntry> lines) {
    if (lines.isEmpty() && first > 1) {
      return line.position().frame() == first;
    }
    return line.follows(lines.isEmpty() ? null : lines.getLast());
  }

  /**
   * Returns the last line; null when there is none, when it is incomplete, or when it does not
   * follow the line before it.
   */
  @Nullable IndexEntry lastEntry() throws IOException {
    long from = Math.max(0, size - 2 * IndexLine.MAX_BYTES);
    var text = new String(read(from, (int) (size - from)), ISO_8859_1);
    if (!text.endsWith("\n")) {
      return null;
    }
    var lines = text.lines().toList();
    var last = IndexLine.parse(segment, lines.getLast());
    if (last == null || lines.size() == 1) {
      return last != null && last.follows(null) ? last : null;
    }
    var before = IndexLine.parse(segment, lines.get(lines.size() - 2));
    return before != null && last.follows(before) ? last : null;
  }

  /** Returns the start of the first line whose frame has that number or a higher one. */
  private long seek(int frame) throws IOException {
    long low = 0;
    long high = size;
    while (low < high) {
      long middle = low + high >>> 1;
      long line = lineStart(middle);
      if (line >= high || frameAt(line) >= frame) {
        high = middle;
      } else {
        low = line + 1;
      }
    }
    return lineStart(low);
  }

  /** Returns the start of the first line at or after an offset. */
  private long lineStart(long offset) throws IOException {
    if (offset == 0) {
      return 0;
    }
    int end = lineEnd(read(offset - 1, IndexLine.MAX_BYTES), 0);
    if (end < 0) {
      throw new DamagedIndexException(segment, offset);
    }
    return offset + end;
  }

  private int frameAt(long offset) throws IOException {
    var chunk = read(offset, IndexLine.MAX_BYTES);
    int end = lineEnd(chunk, 0);
    var line = end < 0 ? null : IndexLine.parse(segment, new String(chunk, 0, end, ISO_8859_1));
    if (line == null) {
      throw new DamagedIndexException(segment, offset);
    }
    return line.position().frame();
  }

  private static int lineEnd(byte[] chunk, int from) {
    for (int i = from; i < chunk.length; i++) {
      if (chunk[i] == '\n') {
        return i;
      }
    }
    return -1;
  }

  /** Reads bytes at an offset; fewer than requested at the end of the lines. */
  private byte[] read(long offset, int bytes) throws IOException {
    var chunk = ByteBuffer.allocate((int) Math.min(bytes, size - offset));
    while (chunk.hasRemaining()) {
      if (channel.read(chunk, offset + chunk.position()) < 0) {
        throw new DamagedIndexException(segment, offset + chunk.position());
      }
    }
    return chunk.array();
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
