package dev.sluice.clickhouse;

import java.util.BitSet;
import org.jspecify.annotations.Nullable;

/**
 * Which records of a portion go into one insert.
 *
 * <p>ClickHouse refuses an insert into too many partitions, and a partition is a day: a pass takes
 * the first {@link #MAX_DAYS} days it meets, up to a number of bytes, and leaves the others to the
 * {@link #next} one. What it takes depends on the records alone, so that a portion that is tried
 * again makes the same inserts.
 */
final class InsertPartitioner {
  /** Half of what ClickHouse allows, since its days may be those of another time zone. */
  static final int MAX_DAYS = 50;

  private static final long DAY_NANOS = 86_400L * 1_000_000_000L;

  private final long maxBytes;

  /** What the passes before have left; null for everything. */
  private final @Nullable BitSet candidates;

  private final BitSet remaining = new BitSet();
  private final long[] days = new long[MAX_DAYS]; // where each begins
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

  /** The pass for these records, which another has taken together. */
  static InsertPartitioner ofRecords(BitSet records) {
    return new InsertPartitioner(Long.MAX_VALUE, records);
  }

  /** Which records it has taken, once it was asked for all. */
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

  /** Of what it has taken, once it was asked for all: an insert makes a part for each. */
  int dayCount() {
    return dayCount;
  }

  /** The pass for what this one has left; null when that is nothing. */
  @Nullable InsertPartitioner next() {
    return remaining.isEmpty() ? null : new InsertPartitioner(maxBytes, remaining);
  }

  /**
   * Whether the next record of the portion is taken; asked for each, in order.
   *
   * @param bytes size of what has been taken so far
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
