package dev.sluice.wal;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.util.Comparator;
import java.util.NavigableSet;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The name of a segment and its index. The order of names is the order in which segments start.
 *
 * @param day the day (UTC) of its directory
 * @param number the number of the segment on that day, from 1
 * @param compression the compression of its frames
 */
record SegmentName(LocalDate day, int number, Compression compression)
    implements Comparable<SegmentName> {
  private static final Pattern DAY = Pattern.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}");
  private static final Pattern FILE = Pattern.compile("seg-([0-9]{6,9})\\.wal\\.(zst|gz)");
  private static final Comparator<SegmentName> ORDER =
      Comparator.comparing(SegmentName::day)
          .thenComparingInt(SegmentName::number)
          .thenComparing(SegmentName::compression);

  /**
   * Lists the segments in a node directory.
   *
   * @throws IOException also when two segments of a day have the same number
   */
  static NavigableSet<SegmentName> list(Path node) throws IOException {
    var names = new TreeSet<SegmentName>();
    for (var directory : entries(node)) {
      var day = dayOf(directory);
      if (day != null) {
        for (var file : entries(directory)) {
          var name = of(day, file);
          if (name != null) {
            names.add(name);
          }
        }
      }
    }
    requireUnambiguous(node, names);
    return names;
  }

  /** Returns the days that have a directory, including empty ones. */
  static NavigableSet<LocalDate> days(Path node) throws IOException {
    var days = new TreeSet<LocalDate>();
    for (var directory : entries(node)) {
      var day = dayOf(directory);
      if (day != null) {
        days.add(day);
      }
    }
    return days;
  }

  private static TreeSet<Path> entries(Path directory) throws IOException {
    var entries = new TreeSet<Path>();
    try (DirectoryStream<Path> stream = Files.newDirectoryStream(directory)) {
      stream.forEach(entries::add);
    } catch (NotDirectoryException _) {
      return entries;
    }
    return entries;
  }

  private static @Nullable LocalDate dayOf(Path directory) {
    var text = String.valueOf(directory.getFileName());
    if (!DAY.matcher(text).matches()) {
      return null;
    }
    try {
      return LocalDate.parse(text);
    } catch (DateTimeException _) {
      return null;
    }
  }

  private static @Nullable SegmentName of(LocalDate day, Path file) {
    var matcher = FILE.matcher(String.valueOf(file.getFileName()));
    if (!matcher.matches()) {
      return null;
    }
    return new SegmentName(
        day,
        Integer.parseInt(matcher.group(1)),
        matcher.group(2).equals(Compression.ZSTD.suffix()) ? Compression.ZSTD : Compression.GZIP);
  }

  private static void requireUnambiguous(Path node, NavigableSet<SegmentName> names)
      throws IOException {
    for (var name : names) {
      var next = names.higher(name);
      if (next != null && next.day().equals(name.day()) && next.number() == name.number()) {
        throw new IOException(
            "two segments with the same number in %s: %s and %s; move one of them away"
                .formatted(node, name, next));
      }
    }
  }

  boolean contains(FramePosition position) {
    return day.equals(position.day()) && number == position.segment();
  }

  FramePosition position(int frame) {
    return new FramePosition(day, number, frame);
  }

  /** Returns the file name, without the directory. */
  String file() {
    return "seg-%06d.wal.%s".formatted(number, compression.suffix());
  }

  Path directory(Path node) {
    return node.resolve(day.toString());
  }

  Path data(Path node) {
    return directory(node).resolve(file());
  }

  Path index(Path node) {
    return directory(node).resolve("seg-%06d.wal.idx".formatted(number));
  }

  @Override
  public int compareTo(SegmentName other) {
    return ORDER.compare(this, other);
  }

  /** Returns the path relative to the node directory: {@code 2026-11-22/seg-000001.wal.zst}. */
  @Override
  public String toString() {
    return day + "/" + file();
  }
}
