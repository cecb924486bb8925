package dev.sluice.clickhouse;

import java.util.BitSet;
import org.jspecify.annotations.Nullable;

/**
 * Selects the records of a slice that go into one insert.
 *
 * <p>ClickHouse rejects an insert into too many partitions. A partitioner selects the records of
 * the first {@link #MAX_PARTITIONS} partitions, up to a number of bytes, and leaves the remaining
 * records to the {@link #next} one. The selection depends on the records and the table only, so
 * that a retry of a slice makes the same inserts.
 */
final class InsertPartitioner {
  /**
   * Maximum number of partitions of an insert: half of the limit of ClickHouse, since its days may
   * be those of another time zone.
   */
  static final int MAX_PARTITIONS = 50;

  private final PartitionKey key;
  private final long maxBytes;

  /** The records that earlier partitioners have left; null for all records. */
  private final @Nullable BitSet candidates;

  private final BitSet remaining = new BitSet();
  private final long[] partitions = new long[MAX_PARTITIONS]; // key value of each selected one
  private int partitionCount;
  private long lastPartition = Long.MIN_VALUE; // none
  private int position;
  private boolean full;

  private InsertPartitioner(PartitionKey key, long maxBytes, @Nullable BitSet candidates) {
    this.key = key;
    this.maxBytes = maxBytes;
    this.candidates = candidates;
  }

  static InsertPartitioner first(PartitionKey key, long maxBytes) {
    return new InsertPartitioner(key, maxBytes, null);
  }

  /** Returns a partitioner of exactly these records, some of those that this one has selected. */
  InsertPartitioner ofSelected(BitSet records) {
    return new InsertPartitioner(key, Long.MAX_VALUE, records);
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
   * Returns the number of partitions of the selected records, valid after all records have been
   * offered; an insert creates a part for each.
   */
  int partitionCount() {
    return partitionCount;
  }

  /** Returns the partitioner of the records that this one has left; null when there are none. */
  @Nullable InsertPartitioner next() {
    return remaining.isEmpty() ? null : new InsertPartitioner(key, maxBytes, remaining);
  }

  /**
   * Returns whether the next record of the slice is selected. Must be called for each record, in
   * order.
   *
   * @param timeNanos event time of the record, nanoseconds since 1970
   * @param receivedNanos receive time of the record, nanoseconds since 1970
   * @param bytes size of the records that are selected so far
   */
  boolean offer(long timeNanos, long receivedNanos, long bytes) {
    int index = position++;
    if (candidates != null && !candidates.get(index)) {
      return false;
    }
    full |= bytes >= maxBytes;
    if (full || !addPartition(key.valueOf(timeNanos, receivedNanos))) {
      remaining.set(index);
      return false;
    }
    return true;
  }

  private boolean addPartition(long partition) {
    if (partition == lastPartition) {
      return true;
    }
    for (int i = 0; i < partitionCount; i++) {
      if (partitions[i] == partition) {
        lastPartition = partition;
        return true;
      }
    }
    if (partitionCount == MAX_PARTITIONS) {
      return false;
    }
    partitions[partitionCount++] = partition;
    lastPartition = partition;
    return true;
  }
}
