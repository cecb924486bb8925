package dev.sluice.wal;

import java.time.LocalDate;
import java.util.Comparator;
import java.util.Map;
import java.util.TreeMap;

/**
 * Counts of the frames after the acknowledged position, by segment and by receive day. The counts
 * by segment allow to drop those of a lost segment. For use by one thread at a time.
 */
final class UnackedCounts {
  private record SegmentKey(LocalDate day, int number) implements Comparable<SegmentKey> {
    private static final Comparator<SegmentKey> ORDER =
        Comparator.comparing(SegmentKey::day).thenComparingInt(SegmentKey::number);

    static SegmentKey of(FramePosition position) {
      return new SegmentKey(position.day(), position.segment());
    }

    @Override
    public int compareTo(SegmentKey other) {
      return ORDER.compare(this, other);
    }
  }

  private record FrameTotals(long frames, long records) {
    FrameTotals plus(FrameTotals other) {
      return new FrameTotals(frames + other.frames, records + other.records);
    }
  }

  private final TreeMap<SegmentKey, Map<LocalDate, FrameTotals>> segments = new TreeMap<>();

  void add(FramePosition position, LocalDate day, int records) {
    add(position, day, new FrameTotals(1, records));
  }

  void remove(FramePosition position, LocalDate day, int records) {
    add(position, day, new FrameTotals(-1, -records));
  }

  private void add(FramePosition position, LocalDate day, FrameTotals totals) {
    segments
        .computeIfAbsent(SegmentKey.of(position), _ -> new TreeMap<>())
        .merge(day, totals, FrameTotals::plus);
  }

  /**
   * Drops the counts of all segments before that of the position.
   *
   * @return number of records that were still counted in them, which are missing from the log
   */
  long dropBefore(FramePosition position) {
    var dropped = segments.headMap(SegmentKey.of(position));
    long missing =
        dropped.values().stream()
            .flatMap(days -> days.values().stream())
            .mapToLong(FrameTotals::records)
            .sum();
    dropped.clear();
    return missing;
  }

  long frames() {
    return sum().frames();
  }

  long records() {
    return sum().records();
  }

  private FrameTotals sum() {
    return segments.values().stream()
        .flatMap(days -> days.values().stream())
        .reduce(new FrameTotals(0, 0), FrameTotals::plus);
  }

  Map<LocalDate, Long> byDay() {
    var sums = new TreeMap<LocalDate, Long>();
    segments
        .values()
        .forEach(
            days -> days.forEach((day, totals) -> sums.merge(day, totals.records(), Long::sum)));
    return sums;
  }
}
