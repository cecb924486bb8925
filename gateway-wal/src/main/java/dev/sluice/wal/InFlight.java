package dev.sluice.wal;

import java.time.LocalDate;
import java.util.Comparator;
import java.util.Map;
import java.util.TreeMap;

/**
 * Frames behind the settled position, counted as they are met: by segment, so that what was lost
 * with a segment is not counted for ever, and by day of receipt. For one thread at a time.
 */
final class InFlight {
  private record Segment(LocalDate day, int number) implements Comparable<Segment> {
    private static final Comparator<Segment> ORDER =
        Comparator.comparing(Segment::day).thenComparingInt(Segment::number);

    static Segment of(Position position) {
      return new Segment(position.day(), position.segment());
    }

    @Override
    public int compareTo(Segment other) {
      return ORDER.compare(this, other);
    }
  }

  private record Share(long frames, long records) {
    Share plus(Share other) {
      return new Share(frames + other.frames, records + other.records);
    }
  }

  private final TreeMap<Segment, Map<LocalDate, Share>> segments = new TreeMap<>();

  void add(Position position, LocalDate day, int records) {
    add(position, day, new Share(1, records));
  }

  void remove(Position position, LocalDate day, int records) {
    add(position, day, new Share(-1, -records));
  }

  private void add(Position position, LocalDate day, Share share) {
    segments
        .computeIfAbsent(Segment.of(position), _ -> new TreeMap<>())
        .merge(day, share, Share::plus);
  }

  /** Segments before that of the position are over; returns how many records never turned up. */
  long end(Position position) {
    var over = segments.headMap(Segment.of(position));
    long missing =
        over.values().stream()
            .flatMap(days -> days.values().stream())
            .mapToLong(Share::records)
            .sum();
    over.clear();
    return missing;
  }

  long frames() {
    return sum().frames();
  }

  long records() {
    return sum().records();
  }

  private Share sum() {
    return segments.values().stream()
        .flatMap(days -> days.values().stream())
        .reduce(new Share(0, 0), Share::plus);
  }

  Map<LocalDate, Long> byDay() {
    var sums = new TreeMap<LocalDate, Long>();
    segments
        .values()
        .forEach(days -> days.forEach((day, share) -> sums.merge(day, share.records(), Long::sum)));
    return sums;
  }
}
