package dev.sluice.redis;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.Deliveries.Delivery;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/** A delivery in the making. */
final class Gathering {
  private final RedisDeliveries.Bounds bounds;
  private final List<Entry> entries = new ArrayList<>();
  private long records;
  private long bytes;

  Gathering(RedisDeliveries.Bounds bounds) {
    this.bounds = bounds;
  }

  boolean isEmpty() {
    return entries.isEmpty();
  }

  boolean isFull() {
    return records >= bounds.maxRecords() || bytes >= bounds.maxBytes();
  }

  /** Takes the entry unless the bounds forbid; the first is taken whatever its size. */
  boolean add(Entry entry) {
    var batch = entry.batch();
    if (!isEmpty()
        && (isFull()
            || records + batch.records() > bounds.maxRecords()
            || bytes + batch.weight() > bounds.maxBytes())) {
      return false;
    }
    entries.add(entry);
    records += batch.records();
    bytes += batch.weight();
    return true;
  }

  /** Not when it is empty. */
  EntryId first() {
    return entries.getFirst().id();
  }

  List<EntryId> ids() {
    return entries.stream().map(Entry::id).toList();
  }

  /**
   * The token holds a hash of the append ids beside the first and the last id: two runs may begin
   * and end alike and differ between, and two Redis may give out the same ids. A token that is the
   * same for different runs would lose the second of them.
   */
  Delivery delivery(int shard, boolean again) {
    long hash =
        Envelope.hashOf(
            () -> entries.stream().map(entry -> entry.batch().appendId()).iterator(),
            entries.size());
    var token =
        shard
            + ":"
            + entries.getFirst().id()
            + ":"
            + entries.getLast().id()
            + ":"
            + HexFormat.of().toHexDigits(hash);
    List<LogBatch> batches = entries.stream().map(Entry::batch).toList();
    return new Delivery(token, batches, again);
  }
}
