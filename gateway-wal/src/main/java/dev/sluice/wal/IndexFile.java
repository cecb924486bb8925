package dev.sluice.wal;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import dev.sluice.wal.Segments.Indexed;
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
  private final long size;

  /** A line is not what it should be; the index wants mending. */
  static final class Damaged extends IOException {
    @Serial private static final long serialVersionUID = 1L;

    private Damaged(SegmentName segment, long at) {
      super("the index of %s is damaged at byte %d".formatted(segment, at));
    }
  }

  /** Looks at the lines of the extent alone: others may be under way. */
  IndexFile(Path node, Extent extent) throws IOException {
    this.segment = extent.name();
    this.channel = FileChannel.open(segment.index(node));
    this.size = extent.indexBytes();
  }

  /**
   * Frames behind the given one, which must follow each other without a gap.
   *
   * @param frame 0 for the very beginning
   * @param limit how many at most, from 1
   */
  List<Indexed> after(int frame, int limit) throws IOException {
    var frames = new ArrayList<Indexed>();
    // begins with the frame itself, so that the first one behind it can be held against it
    for (long at = frame == 0 ? 0 : seek(frame); at < size; ) {
      var chunk = read(at, CHUNK);
      int used = take(chunk, at, frame, limit, frames);
      if (used == 0) {
        throw new Damaged(segment, at);
      }
      at += used;
      if (frames.size() - (begins(frames, frame) ? 1 : 0) >= limit) {
        break;
      }
    }
    return begins(frames, frame) ? frames.subList(1, frames.size()) : frames;
  }

  private static boolean begins(List<Indexed> frames, int frame) {
    return !frames.isEmpty() && frames.getFirst().position().frame() == frame;
  }

  /** Takes the whole lines of a chunk; returns their bytes. */
  private int take(byte[] chunk, long at, int frame, int limit, List<Indexed> frames)
      throws Damaged {
    int used = 0;
    for (int end = lineEnd(chunk, 0); end >= 0; end = lineEnd(chunk, used)) {
      var line = IndexLine.parse(segment, new String(chunk, used, end - used, ISO_8859_1));
      if (line == null || !continues(line, frames, at + used)) {
        throw new Damaged(segment, at + used);
      }
      frames.add(line);
      used = end + 1;
      if (frames.size() - (begins(frames, frame) ? 1 : 0) >= limit) {
        break;
      }
    }
    return used;
  }

  private static boolean continues(Indexed line, List<Indexed> before, long at) {
    if (before.isEmpty()) {
      return at > 0 || line.offset() == 0;
    }
    var last = before.getLast();
    return line.offset() == last.offset() + last.length()
        && line.position().frame() > last.position().frame();
  }

  /** The last line; null when it is not whole, or there is none. */
  @Nullable Indexed last() throws IOException {
    long from = Math.max(0, size - IndexLine.MAX_BYTES);
    var tail = read(from, (int) (size - from));
    if (tail.length == 0 || tail[tail.length - 1] != '\n') {
      return null;
    }
    int begin = tail.length - 1;
    while (begin > 0 && tail[begin - 1] != '\n') {
      begin--;
    }
    return IndexLine.parse(segment, new String(tail, begin, tail.length - 1 - begin, ISO_8859_1));
  }

  /** Where the first line begins whose frame has that number or a higher one. */
  private long seek(int frame) throws IOException {
    long low = 0;
    long high = size;
    while (low < high) {
      long middle = low + high >>> 1;
      long line = lineFrom(middle);
      if (line >= high || frameAt(line) >= frame) {
        high = middle;
      } else {
        low = line + 1;
      }
    }
    return lineFrom(low);
  }

  /** Where the first line begins at or behind that byte. */
  private long lineFrom(long at) throws IOException {
    if (at == 0) {
      return 0;
    }
    int end = lineEnd(read(at - 1, IndexLine.MAX_BYTES), 0);
    if (end < 0) {
      throw new Damaged(segment, at);
    }
    return at + end;
  }

  private int frameAt(long at) throws IOException {
    var chunk = read(at, IndexLine.MAX_BYTES);
    int end = lineEnd(chunk, 0);
    var line = end < 0 ? null : IndexLine.parse(segment, new String(chunk, 0, end, ISO_8859_1));
    if (line == null) {
      throw new Damaged(segment, at);
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
        throw new Damaged(segment, at + chunk.position());
      }
    }
    return chunk.array();
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
