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
 * The identities of a portion's records, and which of them ClickHouse says it has.
 *
 * <p>A portion may be made of thousands of small batches, each a run of identities. To ask for each
 * run would be a condition that ClickHouse evaluates thousands of times for each row; so runs that
 * are near each other are asked for as one range, and the answer, which then holds identities of
 * others too, is sifted here.
 */
final class DuplicateCheck {
  /** In one question: each range is two comparisons for each row that is read. */
  private static final int MAX_RANGES = 16;

  /** What one process gives out in between is not worth a range of its own. */
  private static final long MIN_JOIN_GAP_MILLIS = 1_000;

  /** Nor this much where there are many; more could be all that a process ever gave out. */
  private static final long MAX_JOIN_GAP_MILLIS = 60_000;

  /**
   * @param position in the portion of the run's first record
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

  /** In the order of identities. */
  private final List<IdRun> runs = new ArrayList<>();

  /**
   * @param sinceNanos batches received before are left out: they need not be there
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
   * Questions for them, with answers in RowBinary in which there may be others too. The texts hold
   * nothing but identities of ours.
   */
  List<String> queries() {
    return ranges().stream().gather(Gatherers.windowFixed(MAX_RANGES)).map(this::query).toList();
  }

  private String query(List<IdRange> idRanges) {
    var ranges =
        idRanges.stream()
            .map(r -> "Id BETWEEN %s AND %s".formatted(literal(r.first()), literal(r.last())))
            .collect(Collectors.joining(" OR "));
    // what other processes gave out at the same time stays where it is
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

  /** The runs, joined where they are near each other; less near where there are many. */
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

  /** Between the run and the one before. */
  private long gapMillis(int run) {
    return (runs.get(run).first().high() >>> 16) - (runs.get(run - 1).last().high() >>> 16);
  }

  /** Places in the portion of all of them. */
  BitSet positions() {
    var positions = new BitSet();
    for (var run : runs) {
      positions.set(run.position(), run.position() + run.records());
    }
    return positions;
  }

  /** Clears the places of those that are in an answer. */
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
        // the same batch may be there twice, then both of its runs are next to each other
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
