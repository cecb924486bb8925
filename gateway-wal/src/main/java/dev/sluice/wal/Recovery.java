package dev.sluice.wal;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.TRUNCATE_EXISTING;
import static java.nio.file.StandardOpenOption.WRITE;

import dev.sluice.wal.Segments.Indexed;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes segments and their indexes agree again.
 *
 * <p>The frames are the truth. A line is believed without a look at its frame where the next line
 * goes on from it, or the data ends with it; what has no such line is read. Other lines count only
 * where there is no frame that can be read. What then is left between frames, or where the index
 * was damaged, becomes a line of no records: whoever reads that frame finds it corrupt, and deals
 * with it as with any other. What cannot be read at the end, behind an index that has nothing
 * wrong, was never confirmed, and is cut off. Frames are numbered without gaps.
 *
 * <p>Each step can be repeated after a crash.
 */
final class Recovery {
  private static final Logger LOG = LoggerFactory.getLogger(Recovery.class);

  private final Path node;
  private final Disk disk;
  private final FrameFormat format;

  Recovery(Path node, Disk disk, FrameFormat format) {
    this.node = node;
    this.disk = disk;
    this.format = format;
  }

  /**
   * Puts everything in order; reads no more of a segment than is in doubt. An index whose last line
   * ends where the data does is taken as it is: what is wrong before that is found, and mended, by
   * whoever comes to it.
   */
  List<Extent> recover() throws IOException {
    var extents = new ArrayList<Extent>();
    var names = SegmentName.list(node);
    for (var name : names) {
      extents.add(recover(name));
    }
    dropOrphans(names);
    return extents;
  }

  private Extent recover(SegmentName name) throws IOException {
    long bytes = Files.size(name.data(node));
    var index = name.index(node);
    if (!Files.exists(index)) {
      return mend(name, 0);
    }
    var extent = new Extent(name, bytes, Files.size(index), 0, -1);
    try (var file = new IndexFile(node, extent)) {
      if (bytes == 0 && extent.indexBytes() == 0) {
        return extent.withRecords(0);
      }
      var end = file.last();
      if (end == null || end.end() != bytes) {
        return mend(name, 0);
      }
      return new Extent(name, bytes, extent.indexBytes(), end.position().frame(), -1);
    } catch (IndexFile.Damaged _) {
      return mend(name, 0);
    }
  }

  /** Whether a frame begins there that can be read, whatever its line says of it. */
  boolean isReadable(SegmentName name, Indexed frame) throws IOException {
    try (var channel = FileChannel.open(name.data(node), READ)) {
      return new Scan(channel, name, format).at(frame.offset(), channel.size()) != null;
    }
  }

  /**
   * Reads the index line by line, and the data where it says nothing.
   *
   * @param doubted number of the frame whose line is not believed; 0 for none
   */
  Extent mend(SegmentName name, int doubted) throws IOException {
    long size = Files.size(name.data(node));
    var before = index(name);
    var lines = Lines.of(name, before, size, doubted);
    try (var channel = FileChannel.open(name.data(node), READ, WRITE)) {
      var found = new Scan(channel, name, format).complete(lines, size);
      long end = found.isEmpty() ? 0 : found.getLast().end();
      if (end < size) {
        LOG.warn("cut {} bytes off the end of {}", size - end, name);
        channel.truncate(end);
      }
      channel.force(true);
      long indexBytes = write(name, before == null ? "" : before, found);
      long records = found.stream().mapToLong(Indexed::records).sum();
      LOG.info(
          "mended {}: {} frames, {} lines were believed", name, found.size(), lines.sure.size());
      return new Extent(name, end, indexBytes, found.size(), records);
    }
  }

  /** Null when there is none. */
  private @Nullable String index(SegmentName name) throws IOException {
    try {
      return Files.readString(name.index(node), ISO_8859_1);
    } catch (NoSuchFileException _) {
      return null;
    }
  }

  /** What is right stays as it is, so that the usual case needs no room on the disk. */
  private long write(SegmentName name, String before, List<Indexed> found) throws IOException {
    var index = name.index(node);
    var text = new StringBuilder();
    found.forEach(frame -> text.append(IndexLine.of(name, frame)));
    var lines = text.toString();
    var had = before.substring(0, before.lastIndexOf('\n') + 1);
    if (lines.startsWith(had) || had.startsWith(lines)) {
      try (var channel = FileChannel.open(index, CREATE, WRITE)) {
        int kept = Math.min(had.length(), lines.length());
        channel.truncate(kept);
        new Disk.ChannelTail(channel)
            .write(ByteBuffer.wrap(lines.substring(kept).getBytes(ISO_8859_1)), kept);
        channel.force(true);
      }
    } else {
      var fresh = index.resolveSibling(index.getFileName() + ".tmp");
      try (var channel = FileChannel.open(fresh, CREATE, TRUNCATE_EXISTING, WRITE)) {
        new Disk.ChannelTail(channel).write(ByteBuffer.wrap(lines.getBytes(ISO_8859_1)), 0);
        channel.force(true);
      }
      Files.move(fresh, index, StandardCopyOption.ATOMIC_MOVE);
    }
    disk.force(name.folder(node));
    return lines.length();
  }

  /** An index whose segment was pruned just before a crash, and what a crash left of mending. */
  private void dropOrphans(NavigableSet<SegmentName> names) throws IOException {
    for (var day : SegmentName.days(node)) {
      var folder = node.resolve(day.toString());
      try (var files = Files.newDirectoryStream(folder, "seg-*.wal.idx{,.tmp}")) {
        for (var file : files) {
          if (names.stream().noneMatch(name -> name.index(node).equals(file))) {
            Files.delete(file);
          }
        }
      }
    }
  }

  /**
   * What an index says.
   *
   * @param sure believed as they are, in their order
   * @param others by the place where their frame would begin
   * @param damaged whether more is wrong than that the end is missing
   */
  private record Lines(List<Indexed> sure, Map<Long, Indexed> others, boolean damaged) {

    /**
     * @param text null when there is no index
     * @param size of the data
     */
    static Lines of(SegmentName name, @Nullable String text, long size, int doubted) {
      var sure = new ArrayList<Indexed>();
      var others = new HashMap<Long, Indexed>();
      boolean damaged = text == null;
      var all = parsed(name, text == null ? "" : text);
      for (int i = 0; i < all.size(); i++) {
        var line = all.get(i);
        boolean follows = follows(all, i);
        damaged |= !follows;
        if (line == null || line.end() > size) {
          continue; // the index got to the disk, the data did not
        }
        boolean last = i == all.size() - 1;
        boolean goesOn = last ? follows && line.end() == size : follows(all, i + 1);
        if (goesOn && line.position().frame() != doubted) {
          sure.add(line);
        } else {
          others.put(line.offset(), line);
        }
      }
      return new Lines(sure, others, damaged);
    }

    private static boolean follows(List<@Nullable Indexed> lines, int i) {
      var line = lines.get(i);
      var before = i == 0 ? null : lines.get(i - 1);
      return line != null && (i == 0 || before != null) && line.follows(before);
    }

    /** Null for a line that is none. */
    private static List<@Nullable Indexed> parsed(SegmentName name, String text) {
      var lines = new ArrayList<@Nullable Indexed>();
      int at = 0;
      for (int end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', at)) {
        var line = IndexLine.parse(name, text.substring(at, end));
        at = end + 1;
        lines.add(line);
      }
      return lines;
    }
  }

  /** Looks for frames where the index has none. */
  private static final class Scan {
    private static final int FIRST_WINDOW = 1 << 20;
    private static final int MAX_FRAME = 1 << 28;
    private static final int ZSTD = 0x28b52ffd;
    private static final int GZIP = 0x1f8b08;

    private final FileChannel channel;
    private final SegmentName name;
    private final FrameFormat format;
    private final List<Indexed> found = new ArrayList<>();

    Scan(FileChannel channel, SegmentName name, FrameFormat format) {
      this.channel = channel;
      this.name = name;
      this.format = format;
    }

    List<Indexed> complete(Lines lines, long size) throws IOException {
      for (var line : lines.sure()) {
        if (line.offset() >= end()) {
          fill(line.offset(), lines.others(), true);
          while (number() + 1 < line.position().frame()) {
            found.add(hole(end(), end())); // one that lay among what could not be read
          }
          found.add(numbered(line));
        }
      }
      fill(size, lines.others(), lines.damaged());
      return found;
    }

    private long end() {
      return found.isEmpty() ? 0 : found.getLast().end();
    }

    private int number() {
      return found.size();
    }

    private Indexed numbered(Indexed line) {
      return new Indexed(
          name.frame(number() + 1),
          line.offset(),
          line.length(),
          line.records(),
          line.firstNanos(),
          line.lastNanos(),
          line.crc32());
    }

    /**
     * Finds what there is up to a place.
     *
     * @param lines that count where no frame can be read
     * @param all whether what cannot be read at its end is kept too
     */
    private void fill(long to, Map<Long, Indexed> lines, boolean all) throws IOException {
      while (end() < to) {
        var frame = at(end(), to);
        if (frame == null) {
          frame = said(lines, to);
        }
        if (frame == null) {
          long next = next(end() + 1, to);
          if (next == to && !all) {
            return;
          }
          frame = hole(end(), next);
        }
        found.add(frame);
      }
    }

    /** The frame that is there by a line alone; null when there is no such line. */
    private @Nullable Indexed said(Map<Long, Indexed> lines, long to) {
      var line = lines.get(end());
      return line == null || line.length() == 0 || line.end() > to ? null : numbered(line);
    }

    private Indexed hole(long from, long to) {
      int length = (int) Math.min(to - from, MAX_FRAME);
      LOG.warn("{} bytes of {} from byte {} on cannot be read", length, name, from);
      return new Indexed(name.frame(number() + 1), from, length, 0, 0, 0, 0);
    }

    /** Where a frame begins that can be read. */
    private long next(long from, long to) throws IOException {
      var window = new byte[FIRST_WINDOW];
      for (long start = from; start < to; start += window.length - 3) {
        var bytes = ByteBuffer.wrap(window, 0, (int) Math.min(window.length, to - start));
        fully(bytes, start);
        for (int i = 0; i + 3 < bytes.limit(); i++) {
          int magic = bytes.getInt(i);
          if ((magic == ZSTD || magic >>> 8 == GZIP) && at(start + i, to) != null) {
            return start + i;
          }
        }
      }
      return to;
    }

    /** The frame that begins there; null when there is none that can be read. */
    private @Nullable Indexed at(long from, long to) throws IOException {
      long left = Math.min(to - from, MAX_FRAME);
      for (long window = FIRST_WINDOW; ; window *= 4) {
        var bytes = ByteBuffer.allocate((int) Math.min(window, left));
        fully(bytes, from);
        try {
          int length = format.lengthOf(bytes);
          if (length > 0) {
            var frame = format.describe(Arrays.copyOf(bytes.array(), length));
            return new Indexed(
                name.frame(number() + 1),
                from,
                length,
                frame.records(),
                frame.firstNanos(),
                frame.lastNanos(),
                frame.crc32());
          }
        } catch (UnreadableFrame _) {
          return null;
        }
        if (window >= left) {
          return null;
        }
      }
    }

    private void fully(ByteBuffer bytes, long from) throws IOException {
      int start = bytes.position();
      while (bytes.hasRemaining()) {
        if (channel.read(bytes, from + bytes.position() - start) < 0) {
          throw new IOException(name + " became shorter while it was read");
        }
      }
      bytes.position(start);
    }
  }
}
