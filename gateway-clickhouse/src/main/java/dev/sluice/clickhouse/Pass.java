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
final class Pass {
  /** Half of what ClickHouse allows, since its days may be those of another time zone. */
  static final int MAX_DAYS = 50;

  private static final long DAY_NANOS = 86_400L * 1_000_000_000L;

  private final long maxBytes;

  /** What the passes before have left; null for everything. */
  private final @Nullable BitSet offered;

  private final BitSet left = new BitSet();
  private final long[] days = new long[MAX_DAYS]; // where each begins
  private int dayCount;
  private long lastDay = -DAY_NANOS; // none
  private int position;
  private boolean full;

  private Pass(long maxBytes, @Nullable BitSet offered) {
    this.maxBytes = maxBytes;
    this.offered = offered;
  }

  static Pass first(long maxBytes) {
    return new Pass(maxBytes, null);
  }

  /** The pass for these records, which another has taken together. */
  static Pass only(BitSet records) {
    return new Pass(Long.MAX_VALUE, records);
  }

  /** Which records it has taken, once it was asked for all. */
  BitSet taken() {
    var taken = new BitSet();
    if (offered == null) {
      taken.set(0, position);
    } else {
      taken.or(offered);
    }
    taken.andNot(left);
    return taken;
  }

  /** Of what it has taken, once it was asked for all: an insert makes a part for each. */
  int days() {
    return dayCount;
  }

  /** The pass for what this one has left; null when that is nothing. */
  @Nullable Pass next() {
    return left.isEmpty() ? null : new Pass(maxBytes, left);
  }

  /**
   * Whether the next record of the portion is taken; asked for each, in order.
   *
   * @param bytes size of what has been taken so far
   */
  boolean takes(long timeNanos, long bytes) {
    int at = position++;
    if (offered != null && !offered.get(at)) {
      return false;
    }
    full |= bytes >= maxBytes;
    if (full || !day(timeNanos)) {
      left.set(at);
      return false;
    }
    return true;
  }

  private boolean day(long timeNanos) {
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
