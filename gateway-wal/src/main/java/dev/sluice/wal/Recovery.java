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
 * Repairs segments and their indexes, so that each index describes its segment.
 *
 * <p>The frames decide. A line of the index is trusted without reading its frame when the next line
 * continues at its end, or when the data ends there. All other data is scanned for frames; an
 * untrusted line is used only where no frame can be decoded. Bytes that remain between frames, or
 * at the end of a segment with a damaged index, become a gap: an index line without records, whose
 * frame a reader finds corrupt and quarantines like any other. Unreadable bytes after an undamaged
 * index were never accepted, and are truncated. The frames of a segment are numbered without gaps.
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
   * Recovers all segments, oldest first. Reads no frame when the last line of an index ends where
   * the data ends: damage before that line is detected and repaired when its lines are read.
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

  /** Whether a frame that can be decoded starts at the offset, whatever its index line says. */
  boolean isReadable(SegmentName name, IndexEntry frame) throws IOException {
    try (var channel = FileChannel.open(name.data(node), READ)) {
      return new FrameScanner(channel, name, format).readFrame(frame.offset(), channel.size())
          != null;
    }
  }

  /**
   * Repairs a segment: reads its index, scans the data that no trusted line covers, and writes a
   * complete index.
   *
   * @param suspectFrame number of a frame whose line is not trusted; 0 for none
   */
  Extent repair(SegmentName name, int suspectFrame) throws IOException {
    long size = Files.size(name.data(node));
    var existingIndex = readIndex(name);
    var lines = IndexLines.of(name, existingIndex, size, suspectFrame);
    try (var channel = FileChannel.open(name.data(node), READ, WRITE)) {
      var frames = new FrameScanner(channel, name, format).complete(lines, size);
      long end = frames.isEmpty() ? 0 : frames.getLast().end();
      if (end < size) {
        LOG.warn("WAL recovery: truncated {} bytes at the end of {}", size - end, name);
        channel.truncate(end);
      }
      channel.force(true);
      long indexBytes = writeIndex(name, existingIndex == null ? "" : existingIndex, frames);
      long records = frames.stream().mapToLong(IndexEntry::records).sum();
      LOG.info(
          "WAL recovery: repaired the index of {}: {} frames, {} lines trusted",
          name,
          frames.size(),
          lines.trusted.size());
      return new Extent(name, end, indexBytes, frames.size(), records);
    }
  }

  /** Returns the text of the index; null when it does not exist. */
  private @Nullable String readIndex(SegmentName name) throws IOException {
    try {
      return Files.readString(name.index(node), ISO_8859_1);
    } catch (NoSuchFileException _) {
      return null;
    }
  }

  /**
   * Writes the index. Correct lines at its start are not rewritten, so that a typical repair needs
   * little disk space.
   */
  private long writeIndex(SegmentName name, String existingIndex, List<IndexEntry> frames)
      throws IOException {
    var index = name.index(node);
    var text = new StringBuilder();
    frames.forEach(frame -> text.append(IndexLine.format(name, frame)));
    var lines = text.toString();
    var existingLines = existingIndex.substring(0, existingIndex.lastIndexOf('\n') + 1);
    if (lines.startsWith(existingLines) || existingLines.startsWith(lines)) {
      try (var channel = OwnerOnly.open(index, CREATE, WRITE)) {
        int commonLength = Math.min(existingLines.length(), lines.length());
        channel.truncate(commonLength);
        new Disk.ChannelAppendFile(channel)
            .write(
                ByteBuffer.wrap(lines.substring(commonLength).getBytes(ISO_8859_1)), commonLength);
        channel.force(true);
      }
    } else {
      var temporary = index.resolveSibling(index.getFileName() + ".tmp");
      try (var channel = OwnerOnly.open(temporary, CREATE, TRUNCATE_EXISTING, WRITE)) {
        new Disk.ChannelAppendFile(channel).write(ByteBuffer.wrap(lines.getBytes(ISO_8859_1)), 0);
        channel.force(true);
      }
      Files.move(temporary, index, StandardCopyOption.ATOMIC_MOVE);
    }
    disk.force(name.directory(node));
    return lines.length();
  }

  /**
   * Deletes indexes without a segment, left by a crash during pruning, and temporary files, left by
   * a crash during a repair.
   */
  private void deleteOrphanedIndexes(NavigableSet<SegmentName> names) throws IOException {
    for (var day : SegmentName.days(node)) {
      var directory = node.resolve(day.toString());
      try (var files = Files.newDirectoryStream(directory, "seg-*.wal.idx{,.tmp}")) {
        for (var file : files) {
          if (names.stream().noneMatch(name -> name.index(node).equals(file))) {
            Files.delete(file);
          }
        }
      }
    }
  }

  /**
   * The lines of an index.
   *
   * @param trusted the lines that are used without reading their frames, in their order
   * @param untrusted the other lines, by the offset of their frame
   * @param damaged whether the index has damage other than a missing end
   */
  private record IndexLines(
      List<IndexEntry> trusted, Map<Long, IndexEntry> untrusted, boolean damaged) {

    /**
     * Classifies the lines of an index.
     *
     * @param text the text of the index; null when it does not exist
     * @param size size of the data in bytes
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
          continue; // the line reached the disk, its data did not
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

    /** Parses the complete lines of an index; a line that cannot be parsed is null. */
    private static List<@Nullable IndexEntry> parse(SegmentName name, String text) {
      var lines = new ArrayList<@Nullable IndexEntry>();
      int start = 0;
      for (int end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
        var line = IndexLine.parse(name, text.substring(start, end));
        start = end + 1;
        lines.add(line);
      }
      return lines;
    }
  }

  /** Builds the complete index: scans the data that no trusted line covers. */
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
            frames.add(gapFrame(end(), end())); // keeps the number of a frame within the gap
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
     * Scans for frames up to an offset.
     *
     * @param to the offset, exclusive
     * @param lines the untrusted lines, used where no frame can be decoded
     * @param keepGapAtEnd whether unreadable bytes before {@code to} become a gap
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

    /** Returns the frame of the untrusted line at the current end; null when there is none. */
    private @Nullable IndexEntry fromUntrustedLine(Map<Long, IndexEntry> lines, long to) {
      var line = lines.get(end());
      return line == null || line.length() == 0 || line.end() > to ? null : renumber(line);
    }

    private IndexEntry gapFrame(long from, long to) {
      int length = (int) Math.min(to - from, MAX_FRAME_BYTES);
      LOG.warn("WAL recovery: {} unreadable bytes in {} at offset {}", length, name, from);
      return new IndexEntry(name.position(frameCount() + 1), from, length, 0, 0, 0, 0);
    }

    /** Returns the offset of the next frame that can be decoded; {@code to} when there is none. */
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

    /** Returns the frame that starts at an offset; null when no frame can be decoded there. */
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
          throw new IOException(name + " was truncated during recovery");
        }
      }
      bytes.position(start);
    }
  }
}
