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
 * Reads an index without holding it: a line is found by halving, since lines stand in the order of
 * their frames.
 */
final class IndexFile implements Closeable {
  private static final int CHUNK = 1 << 16;

  private final SegmentName segment;
  private final FileChannel channel;
  private final Extent extent;
  private final long size;

  /** A line is not what it should be; the index wants mending. */
  static final class DamagedIndexException extends IOException {
    @Serial private static final long serialVersionUID = 1L;

    private DamagedIndexException(SegmentName segment, long at) {
      super("the index of %s is damaged at byte %d".formatted(segment, at));
    }
  }

  /** Looks at the lines of the extent alone: others may be under way. */
  IndexFile(Path node, Extent extent) throws IOException {
    this.segment = extent.name();
    this.channel = FileChannel.open(segment.index(node));
    this.extent = extent;
    this.size = extent.indexBytes();
  }

  /**
   * Frames behind the given one. Each is held against its neighbours, those that are not asked for
   * included.
   *
   * @param frame 0 for the very beginning
   * @param limit how many at most, from 1
   */
  List<IndexEntry> entriesAfter(int frame, int limit) throws IOException {
    if (frame >= extent.frames()) {
      return List.of();
    }
    int first = Math.max(1, frame);
    int last = (int) Math.min(extent.frames(), frame + 1L + limit);
    var lines = new ArrayList<IndexEntry>();
    for (long at = seek(first); lines.size() <= last - first; ) {
      at += parseChunk(read(at, CHUNK), at, first, last, lines);
    }
    if (last == extent.frames() && lines.getLast().end() != extent.bytes()) {
      throw new DamagedIndexException(segment, size);
    }
    int from = frame + 1 - first;
    return lines.subList(from, from + Math.min(limit, extent.frames() - frame));
  }

  /** Takes the whole lines of a chunk, up to the last that is wanted; returns their bytes. */
  private int parseChunk(byte[] chunk, long at, int first, int last, List<IndexEntry> lines)
      throws DamagedIndexException {
    int used = 0;
    for (int end = lineEnd(chunk, 0);
        end >= 0 && lines.size() <= last - first;
        end = lineEnd(chunk, used)) {
      var line = IndexLine.parse(segment, new String(chunk, used, end - used, ISO_8859_1));
      if (line == null || !isNext(line, first, lines)) {
        throw new DamagedIndexException(segment, at + used);
      }
      lines.add(line);
      used = end + 1;
    }
    if (used == 0) {
      throw new DamagedIndexException(segment, at);
    }
    return used;
  }

  private static boolean isNext(IndexEntry line, int first, List<IndexEntry> lines) {
    if (lines.isEmpty() && first > 1) {
      return line.position().frame() == first;
    }
    return line.follows(lines.isEmpty() ? null : lines.getLast());
  }

  /** The last line; null when it is not whole, does not follow the one before, or is not there. */
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

  /** Where the first line begins whose frame has that number or a higher one. */
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

  /** Where the first line begins at or behind that byte. */
  private long lineStart(long at) throws IOException {
    if (at == 0) {
      return 0;
    }
    int end = lineEnd(read(at - 1, IndexLine.MAX_BYTES), 0);
    if (end < 0) {
      throw new DamagedIndexException(segment, at);
    }
    return at + end;
  }

  private int frameAt(long at) throws IOException {
    var chunk = read(at, IndexLine.MAX_BYTES);
    int end = lineEnd(chunk, 0);
    var line = end < 0 ? null : IndexLine.parse(segment, new String(chunk, 0, end, ISO_8859_1));
    if (line == null) {
      throw new DamagedIndexException(segment, at);
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

  /** Fewer bytes where the lines end. */
  private byte[] read(long at, int bytes) throws IOException {
    var chunk = ByteBuffer.allocate((int) Math.min(bytes, size - at));
    while (chunk.hasRemaining()) {
      if (channel.read(chunk, at + chunk.position()) < 0) {
        throw new DamagedIndexException(segment, at + chunk.position());
      }
    }
    return chunk.array();
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
