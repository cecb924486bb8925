package dev.sluice.clickhouse;

import static java.util.Comparator.comparing;

import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.LogStore.DeliverySlice;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Gatherers;
import java.util.stream.IntStream;

/**
 * Determines which records of a slice ClickHouse already has, by their ids.
 *
 * <p>A slice may have thousands of small batches, each with a contiguous run of ids. A condition
 * for each run would be evaluated thousands of times for each row; so runs that are near each other
 * are queried as one range. The response then also has ids of other records, which are filtered
 * here.
 */
final class DuplicateCheck {
  /**
   * Maximum number of ranges in one query: each range adds two comparisons for each row that is
   * read.
   */
  private static final int MAX_RANGES = 16;

  /**
   * Gap in milliseconds up to which runs are joined: the ids of one process within this time are
   * not worth a range of their own.
   */
  private static final long MIN_JOIN_GAP_MILLIS = 1_000;

  /**
   * Maximum gap in milliseconds up to which runs are joined when there are many runs; without a
   * limit, the range could have all ids that a process has ever assigned.
   */
  private static final long MAX_JOIN_GAP_MILLIS = 60_000;

  /**
   * @param position index of the run's first record in the slice
   */
  private record IdRun(LogId first, int records, int position) {
    LogId last() {
      return first.plus(records - 1);
    }

    boolean contains(LogId id) {
      return id.compareTo(first) >= 0 && id.compareTo(last()) <= 0;
    }
  }

  private record IdRange(LogId first, LogId last) {}

  /** The runs in the order of their ids. */
  private final List<IdRun> runs = new ArrayList<>();

  /**
   * @param sinceNanos receive time in nanoseconds since 1970; batches that were received before it
   *     are not checked, since they may be missing from the store
   */
  DuplicateCheck(DeliverySlice slice, long sinceNanos) {
    int base = -slice.from();
    for (var batch : slice.batches()) {
      int begin = Math.max(0, base);
      int end = Math.min(slice.records(), base + batch.records());
      if (begin < end && batch.receivedNanos() >= sinceNanos) {
        runs.add(new IdRun(batch.firstId().plus(begin - base), end - begin, begin));
      }
      base += batch.records();
    }
    runs.sort(comparing(IdRun::first));
  }

  /**
   * Returns the queries for the ids. Their responses in RowBinary may also have other ids. The text
   * of a query contains no values but ids of the gateway.
   */
  List<String> queries() {
    return ranges().stream().gather(Gatherers.windowFixed(MAX_RANGES)).map(this::query).toList();
  }

  private String query(List<IdRange> idRanges) {
    var ranges =
        idRanges.stream()
            .map(r -> "Id BETWEEN %s AND %s".formatted(literal(r.first()), literal(r.last())))
            .collect(Collectors.joining(" OR "));
    // Excludes ids that other processes assigned at the same time.
    var nodes =
        runs.stream()
            .map(run -> "unhex('%s')".formatted(run.first().toHex().substring(12, 24)))
            .distinct()
            .collect(Collectors.joining(", "));
    return "SELECT Id FROM otel_logs WHERE (%s) AND substring(Id, 7, 6) IN (%s) FORMAT RowBinary"
        .formatted(ranges, nodes);
  }

  private static String literal(LogId id) {
    return "toFixedString(unhex('%s'), 16)".formatted(id.toHex());
  }

  /**
   * Returns the runs as ranges, with neighbours joined. With many runs, neighbours at a larger
   * distance are joined too.
   */
  private List<IdRange> ranges() {
    if (runs.isEmpty()) {
      return List.of();
    }
    var gaps = IntStream.range(1, runs.size()).mapToLong(this::gapMillis).sorted().toArray();
    long maxGap =
        gaps.length < MAX_RANGES
            ? MIN_JOIN_GAP_MILLIS
            : Math.clamp(gaps[gaps.length - MAX_RANGES], MIN_JOIN_GAP_MILLIS, MAX_JOIN_GAP_MILLIS);
    var ranges = new ArrayList<IdRange>();
    var first = runs.getFirst().first();
    for (int i = 1; i < runs.size(); i++) {
      if (gapMillis(i) > maxGap) {
        ranges.add(new IdRange(first, runs.get(i - 1).last()));
        first = runs.get(i).first();
      }
    }
    ranges.add(new IdRange(first, runs.getLast().last()));
    return ranges;
  }

  /** Returns the time between the previous run and this one. */
  private long gapMillis(int run) {
    return (runs.get(run).first().high() >>> 16) - (runs.get(run - 1).last().high() >>> 16);
  }

  /** Returns the indexes of all checked records in the slice. */
  BitSet positions() {
    var positions = new BitSet();
    for (var run : runs) {
      positions.set(run.position(), run.position() + run.records());
    }
    return positions;
  }

  /** Clears the indexes of the records whose ids are in the response. */
  void clearStored(InputStream response, BitSet missing) throws IOException {
    RowBinary.readIds(response, id -> markStored(id, missing));
  }

  private static void clearStored(IdRun run, LogId id, BitSet missing) {
    missing.clear(run.position() + (int) (id.low() - run.first().low()));
  }

  private void markStored(LogId id, BitSet missing) {
    int low = 0;
    int high = runs.size() - 1;
    while (low <= high) {
      int middle = (low + high) >>> 1;
      var run = runs.get(middle);
      if (id.compareTo(run.first()) < 0) {
        high = middle - 1;
      } else if (id.compareTo(run.last()) > 0) {
        low = middle + 1;
      } else {
        // The slice may have the same batch twice; then both runs are next to each other.
        for (int i = middle; i >= 0 && runs.get(i).contains(id); i--) {
          clearStored(runs.get(i), id, missing);
        }
        for (int i = middle + 1; i < runs.size() && runs.get(i).contains(id); i++) {
          clearStored(runs.get(i), id, missing);
        }
        return;
      }
    }
  }
}
