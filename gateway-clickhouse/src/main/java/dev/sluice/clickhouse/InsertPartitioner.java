package dev.sluice.clickhouse;

import java.util.BitSet;
import org.jspecify.annotations.Nullable;

/**
 * Selects the records of a slice that go into one insert.
 *
 * <p>ClickHouse rejects an insert into too many partitions, and a partition is a day. A partitioner
 * selects the records of the first {@link #MAX_DAYS} days, up to a number of bytes, and leaves the
 * remaining records to the {@link #next} one. The selection depends on the records only, so that a
 * retry of a slice makes the same inserts.
 */
final class InsertPartitioner {
  /**
   * Maximum number of days of an insert: half of the limit of ClickHouse, since its days may be
   * those of another time zone.
   */
  static final int MAX_DAYS = 50;

  private static final long DAY_NANOS = 86_400L * 1_000_000_000L;

  private final long maxBytes;

  /** The records that earlier partitioners have left; null for all records. */
  private final @Nullable BitSet candidates;

  private final BitSet remaining = new BitSet();
  private final long[] days = new long[MAX_DAYS]; // start of each selected day
  private int dayCount;
  private long lastDay = -DAY_NANOS; // none
  private int position;
  private boolean full;

  private InsertPartitioner(long maxBytes, @Nullable BitSet candidates) {
    this.maxBytes = maxBytes;
    this.candidates = candidates;
  }

  static InsertPartitioner first(long maxBytes) {
    return new InsertPartitioner(maxBytes, null);
  }

  /** Returns a partitioner of exactly these records, which another partitioner has selected. */
  static InsertPartitioner ofRecords(BitSet records) {
    return new InsertPartitioner(Long.MAX_VALUE, records);
  }

  /** Returns the selected records; valid after all records have been offered. */
  BitSet selected() {
    var selected = new BitSet();
    if (candidates == null) {
      selected.set(0, position);
    } else {
      selected.or(candidates);
    }
    selected.andNot(remaining);
    return selected;
  }

  /**
   * Returns the number of days of the selected records, valid after all records have been offered;
   * an insert creates a part for each.
   */
  int dayCount() {
    return dayCount;
  }

  /** Returns the partitioner of the records that this one has left; null when there are none. */
  @Nullable InsertPartitioner next() {
    return remaining.isEmpty() ? null : new InsertPartitioner(maxBytes, remaining);
  }

  /**
   * Returns whether the next record of the slice is selected. Must be called for each record, in
   * order.
   *
   * @param timeNanos event time of the record, nanoseconds since 1970
   * @param bytes size of the records that are selected so far
   */
  boolean offer(long timeNanos, long bytes) {
    int index = position++;
    if (candidates != null && !candidates.get(index)) {
      return false;
    }
    full |= bytes >= maxBytes;
    if (full || !addDay(timeNanos)) {
      remaining.set(index);
      return false;
    }
    return true;
  }

  private boolean addDay(long timeNanos) {
    if (timeNanos - lastDay < DAY_NANOS && timeNanos >= lastDay) {
      return true;
    }
    long day = timeNanos - timeNanos % DAY_NANOS;
    for (int i = 0; i < dayCount; i++) {
      if (days[i] == day) {
        lastDay = day;
        return true;
      }
    }
    if (dayCount == MAX_DAYS) {
      return false;
    }
    days[dayCount++] = day;
    lastDay = day;
    return true;
  }
}
