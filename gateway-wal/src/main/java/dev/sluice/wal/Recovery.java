package dev.sluice.wal;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.TRUNCATE_EXISTING;
import static java.nio.file.StandardOpenOption.WRITE;

import dev.sluice.wal.SegmentLog.IndexEntry;
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
    deleteOrphanedIndexes(names);
    return extents;
  }

  private Extent recover(SegmentName name) throws IOException {
    long bytes = Files.size(name.data(node));
    var index = name.index(node);
    if (!Files.exists(index)) {
      return repair(name, 0);
    }
    var extent = new Extent(name, bytes, Files.size(index), 0, -1);
    try (var file = new IndexFile(node, extent)) {
      if (bytes == 0 && extent.indexBytes() == 0) {
        return extent.withRecords(0);
      }
      var end = file.lastEntry();
      if (end == null || end.end() != bytes) {
        return repair(name, 0);
      }
      return new Extent(name, bytes, extent.indexBytes(), end.position().frame(), -1);
    } catch (IndexFile.DamagedIndexException _) {
      return repair(name, 0);
    }
  }

  /** Whether a frame begins there that can be read, whatever its line says of it. */
  boolean isReadable(SegmentName name, IndexEntry frame) throws IOException {
    try (var channel = FileChannel.open(name.data(node), READ)) {
      return new FrameScanner(channel, name, format).readFrame(frame.offset(), channel.size())
          != null;
    }
  }

  /**
   * Reads the index line by line, and the data where it says nothing.
   *
   * @param suspectFrame number of the frame whose line is not believed; 0 for none
   */
  Extent repair(SegmentName name, int suspectFrame) throws IOException {
    long size = Files.size(name.data(node));
    var existingIndex = readIndex(name);
    var lines = IndexLines.of(name, existingIndex, size, suspectFrame);
    try (var channel = FileChannel.open(name.data(node), READ, WRITE)) {
      var frames = new FrameScanner(channel, name, format).complete(lines, size);
      long end = frames.isEmpty() ? 0 : frames.getLast().end();
      if (end < size) {
        LOG.warn("cut {} bytes off the end of {}", size - end, name);
        channel.truncate(end);
      }
      channel.force(true);
      long indexBytes = writeIndex(name, existingIndex == null ? "" : existingIndex, frames);
      long records = frames.stream().mapToLong(IndexEntry::records).sum();
      LOG.info(
          "mended {}: {} frames, {} lines were believed",
          name,
          frames.size(),
          lines.trusted.size());
      return new Extent(name, end, indexBytes, frames.size(), records);
    }
  }

  /** Null when there is none. */
  private @Nullable String readIndex(SegmentName name) throws IOException {
    try {
      return Files.readString(name.index(node), ISO_8859_1);
    } catch (NoSuchFileException _) {
      return null;
    }
  }

  /** What is right stays as it is, so that the usual case needs no room on the disk. */
  private long writeIndex(SegmentName name, String existingIndex, List<IndexEntry> frames)
      throws IOException {
    var index = name.index(node);
    var text = new StringBuilder();
    frames.forEach(frame -> text.append(IndexLine.format(name, frame)));
    var lines = text.toString();
    var existingLines = existingIndex.substring(0, existingIndex.lastIndexOf('\n') + 1);
    if (lines.startsWith(existingLines) || existingLines.startsWith(lines)) {
      try (var channel = FileChannel.open(index, CREATE, WRITE)) {
        int commonLength = Math.min(existingLines.length(), lines.length());
        channel.truncate(commonLength);
        new Disk.ChannelAppendFile(channel)
            .write(
                ByteBuffer.wrap(lines.substring(commonLength).getBytes(ISO_8859_1)), commonLength);
        channel.force(true);
      }
    } else {
      var fresh = index.resolveSibling(index.getFileName() + ".tmp");
      try (var channel = FileChannel.open(fresh, CREATE, TRUNCATE_EXISTING, WRITE)) {
        new Disk.ChannelAppendFile(channel).write(ByteBuffer.wrap(lines.getBytes(ISO_8859_1)), 0);
        channel.force(true);
      }
      Files.move(fresh, index, StandardCopyOption.ATOMIC_MOVE);
    }
    disk.force(name.folder(node));
    return lines.length();
  }

  /** An index whose segment was pruned just before a crash, and what a crash left of mending. */
  private void deleteOrphanedIndexes(NavigableSet<SegmentName> names) throws IOException {
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
   * @param trusted believed as they are, in their order
   * @param untrusted by the place where their frame would begin
   * @param damaged whether more is wrong than that the end is missing
   */
  private record IndexLines(
      List<IndexEntry> trusted, Map<Long, IndexEntry> untrusted, boolean damaged) {

    /**
     * @param text null when there is no index
     * @param size of the data
     */
    static IndexLines of(SegmentName name, @Nullable String text, long size, int suspectFrame) {
      var trusted = new ArrayList<IndexEntry>();
      var untrusted = new HashMap<Long, IndexEntry>();
      boolean damaged = text == null;
      var all = parse(name, text == null ? "" : text);
      for (int i = 0; i < all.size(); i++) {
        var line = all.get(i);
        boolean follows = follows(all, i);
        damaged |= !follows;
        if (line == null || line.end() > size) {
          continue; // the index got to the disk, the data did not
        }
        boolean last = i == all.size() - 1;
        boolean continued = last ? follows && line.end() == size : follows(all, i + 1);
        if (continued && line.position().frame() != suspectFrame) {
          trusted.add(line);
        } else {
          untrusted.put(line.offset(), line);
        }
      }
      return new IndexLines(trusted, untrusted, damaged);
    }

    private static boolean follows(List<@Nullable IndexEntry> lines, int i) {
      var line = lines.get(i);
      var before = i == 0 ? null : lines.get(i - 1);
      return line != null && (i == 0 || before != null) && line.follows(before);
    }

    /** Null for a line that is none. */
    private static List<@Nullable IndexEntry> parse(SegmentName name, String text) {
      var lines = new ArrayList<@Nullable IndexEntry>();
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
  private static final class FrameScanner {
    private static final int INITIAL_WINDOW_BYTES = 1 << 20;
    private static final int MAX_FRAME_BYTES = 1 << 28;
    private static final int ZSTD_MAGIC = 0x28b52ffd;
    private static final int GZIP_MAGIC = 0x1f8b08;

    private final FileChannel channel;
    private final SegmentName name;
    private final FrameFormat format;
    private final List<IndexEntry> frames = new ArrayList<>();

    FrameScanner(FileChannel channel, SegmentName name, FrameFormat format) {
      this.channel = channel;
      this.name = name;
      this.format = format;
    }

    List<IndexEntry> complete(IndexLines lines, long size) throws IOException {
      for (var line : lines.trusted()) {
        if (line.offset() >= end()) {
          scanTo(line.offset(), lines.untrusted(), true);
          while (frameCount() + 1 < line.position().frame()) {
            frames.add(gapFrame(end(), end())); // one that lay among what could not be read
          }
          frames.add(renumber(line));
        }
      }
      scanTo(size, lines.untrusted(), lines.damaged());
      return frames;
    }

    private long end() {
      return frames.isEmpty() ? 0 : frames.getLast().end();
    }

    private int frameCount() {
      return frames.size();
    }

    private IndexEntry renumber(IndexEntry line) {
      return new IndexEntry(
          name.position(frameCount() + 1),
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
     * @param keepGapAtEnd whether what cannot be read at its end is kept too
     */
    private void scanTo(long to, Map<Long, IndexEntry> lines, boolean keepGapAtEnd)
        throws IOException {
      while (end() < to) {
        var frame = readFrame(end(), to);
        if (frame == null) {
          frame = fromUntrustedLine(lines, to);
        }
        if (frame == null) {
          long next = findNext(end() + 1, to);
          if (next == to && !keepGapAtEnd) {
            return;
          }
          frame = gapFrame(end(), next);
        }
        frames.add(frame);
      }
    }

    /** The frame that is there by a line alone; null when there is no such line. */
    private @Nullable IndexEntry fromUntrustedLine(Map<Long, IndexEntry> lines, long to) {
      var line = lines.get(end());
      return line == null || line.length() == 0 || line.end() > to ? null : renumber(line);
    }

    private IndexEntry gapFrame(long from, long to) {
      int length = (int) Math.min(to - from, MAX_FRAME_BYTES);
      LOG.warn("{} bytes of {} from byte {} on cannot be read", length, name, from);
      return new IndexEntry(name.position(frameCount() + 1), from, length, 0, 0, 0, 0);
    }

    /** Where a frame begins that can be read. */
    private long findNext(long from, long to) throws IOException {
      var window = new byte[INITIAL_WINDOW_BYTES];
      for (long start = from; start < to; start += window.length - 3) {
        var bytes = ByteBuffer.wrap(window, 0, (int) Math.min(window.length, to - start));
        readFully(bytes, start);
        for (int i = 0; i + 3 < bytes.limit(); i++) {
          int magic = bytes.getInt(i);
          if ((magic == ZSTD_MAGIC || magic >>> 8 == GZIP_MAGIC)
              && readFrame(start + i, to) != null) {
            return start + i;
          }
        }
      }
      return to;
    }

    /** The frame that begins there; null when there is none that can be read. */
    private @Nullable IndexEntry readFrame(long from, long to) throws IOException {
      long left = Math.min(to - from, MAX_FRAME_BYTES);
      for (long window = INITIAL_WINDOW_BYTES; ; window *= 4) {
        var bytes = ByteBuffer.allocate((int) Math.min(window, left));
        readFully(bytes, from);
        try {
          int length = format.lengthOf(bytes);
          if (length > 0) {
            var frame = format.describe(Arrays.copyOf(bytes.array(), length));
            return new IndexEntry(
                name.position(frameCount() + 1),
                from,
                length,
                frame.records(),
                frame.firstNanos(),
                frame.lastNanos(),
                frame.crc32());
          }
        } catch (UnreadableFrameException _) {
          return null;
        }
        if (window >= left) {
          return null;
        }
      }
    }

    private void readFully(ByteBuffer bytes, long from) throws IOException {
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
