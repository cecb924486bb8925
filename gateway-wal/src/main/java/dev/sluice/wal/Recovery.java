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
import java.util.List;
import java.util.NavigableSet;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes segments and their indexes agree again.
 *
 * <p>The index is believed where it can be read: what has a line is a frame, intact or not. Bytes
 * without a line are read as frames, which then get one. What cannot be read between frames, or
 * where the index was damaged, becomes a line of no records: whoever reads that frame finds it
 * corrupt, and deals with it as with any other. What cannot be read at the end, behind an intact
 * index, was never confirmed, and is cut off.
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
      return mend(name);
    }
    var extent = new Extent(name, bytes, Files.size(index), 0, -1);
    try (var file = new IndexFile(node, extent)) {
      if (bytes == 0 && extent.indexBytes() == 0) {
        return extent.withRecords(0);
      }
      var end = file.last();
      if (end == null || end.offset() + end.length() != bytes) {
        return mend(name);
      }
      return new Extent(name, bytes, extent.indexBytes(), end.position().frame(), -1);
    } catch (IndexFile.Damaged _) {
      return mend(name);
    }
  }

  /** Reads the index line by line, and the data where it says nothing. */
  Extent mend(SegmentName name) throws IOException {
    var believed = new Believed(name, Files.size(name.data(node)));
    believed.read(index(name));
    try (var channel = FileChannel.open(name.data(node), READ, WRITE)) {
      var found = new Scan(channel, name, format).complete(believed);
      long end = found.isEmpty() ? 0 : end(found.getLast());
      if (end < believed.size) {
        LOG.warn("cut {} bytes off the end of {}", believed.size - end, name);
        channel.truncate(end);
      }
      channel.force(true);
      long indexBytes = write(name, believed, found);
      long records = found.stream().mapToLong(Indexed::records).sum();
      int frames = found.isEmpty() ? 0 : found.getLast().position().frame();
      LOG.info("mended {}: {} frames, {} of them without a line", name, frames, believed.missing);
      return new Extent(name, end, indexBytes, frames, records);
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

  private static long end(Indexed frame) {
    return frame.offset() + frame.length();
  }

  /** What is right stays as it is, so that the usual case needs no room on the disk. */
  private long write(SegmentName name, Believed believed, List<Indexed> found) throws IOException {
    var index = name.index(node);
    var lines = new StringBuilder();
    found.forEach(frame -> lines.append(IndexLine.of(name, frame)));
    var whole = lines.toString().getBytes(ISO_8859_1);
    if (believed.atHead() && found.subList(0, believed.lines.size()).equals(believed.lines)) {
      try (var channel = FileChannel.open(index, CREATE, WRITE)) {
        int kept = believed.bytes;
        channel.truncate(kept);
        new Disk.ChannelTail(channel)
            .write(ByteBuffer.wrap(whole, kept, whole.length - kept), kept);
        channel.force(true);
      }
    } else {
      var fresh = index.resolveSibling(index.getFileName() + ".tmp");
      try (var channel = FileChannel.open(fresh, CREATE, TRUNCATE_EXISTING, WRITE)) {
        new Disk.ChannelTail(channel).write(ByteBuffer.wrap(whole), 0);
        channel.force(true);
      }
      Files.move(fresh, index, StandardCopyOption.ATOMIC_MOVE);
    }
    disk.force(name.folder(node));
    return whole.length;
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

  /** The lines of an index that can be true, all of them together. */
  static final class Believed {
    private final SegmentName name;
    private final long size;
    private final List<Indexed> lines = new ArrayList<>();
    private boolean damaged;
    private boolean gap;
    private boolean beyond;
    private int bytes;
    private int missing;

    Believed(SegmentName name, long size) {
      this.name = name;
      this.size = size;
    }

    private void read(@Nullable String text) {
      if (text == null) {
        damaged = true;
        return;
      }
      int at = 0;
      for (int end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', at)) {
        add(line(text.substring(at, end + 1)), end + 1);
        at = end + 1;
      }
    }

    private @Nullable Indexed line(String text) {
      var line = IndexLine.parse(name, text.substring(0, text.length() - 1));
      return line != null && IndexLine.of(name, line).equals(text) ? line : null;
    }

    private void add(@Nullable Indexed line, int end) {
      long before = lines.isEmpty() ? 0 : end(lines.getLast());
      int number = lines.isEmpty() ? 0 : lines.getLast().position().frame();
      if (line == null || line.offset() < before || line.position().frame() <= number) {
        damaged = true;
        return;
      }
      if (Recovery.end(line) > size || line.length() == 0) {
        beyond = true; // the index got to the disk, the data did not
        return;
      }
      damaged |= beyond;
      gap |= line.offset() > before;
      lines.add(line);
      if (atHead()) {
        bytes = end;
      }
    }

    /** Whether nothing is wrong before the last line. */
    private boolean atHead() {
      return !gap && !damaged;
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

    List<Indexed> complete(Believed believed) throws IOException {
      for (var line : believed.lines) {
        fill(line.offset(), line.position().frame(), true);
        if (number() < line.position().frame()) {
          found.add(line);
        }
      }
      fill(believed.size, Integer.MAX_VALUE, believed.damaged);
      believed.missing = found.size() - believed.lines.size();
      return found;
    }

    private long end() {
      return found.isEmpty() ? 0 : Recovery.end(found.getLast());
    }

    private int number() {
      return found.isEmpty() ? 0 : found.getLast().position().frame();
    }

    /**
     * Finds what there is up to a place.
     *
     * @param before number that the frame there has
     * @param all whether what cannot be read at its end is kept too
     */
    private void fill(long to, int before, boolean all) throws IOException {
      while (end() < to && number() + 1 < before) {
        var frame = at(end(), to);
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
