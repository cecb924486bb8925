package dev.sluice.core.delivery;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.SpoolConsumer.DeliveryLimits;
import java.util.ArrayList;
import java.util.List;

/**
 * A delivery in the making: batches, each with its place in the spool, until the bounds are met.
 * For one thread.
 *
 * @param <P> a place in the spool
 */
public final class DeliveryAccumulator<P> {
  private final DeliveryLimits limits;
  private final List<P> positions = new ArrayList<>();
  private final List<LogBatch> batches = new ArrayList<>();
  private long records;
  private long bytes;

  public DeliveryAccumulator(DeliveryLimits limits) {
    this.limits = limits;
  }

  public boolean isEmpty() {
    return positions.isEmpty();
  }

  public boolean isFull() {
    return records >= limits.maxRecords() || bytes >= limits.maxBytes();
  }

  /** Takes the batch unless the bounds forbid; the first is taken whatever its size. */
  public boolean add(P position, LogBatch batch) {
    if (!isEmpty()
        && (isFull()
            || records + batch.records() > limits.maxRecords()
            || bytes + batch.payload().retainedBytes() > limits.maxBytes())) {
      return false;
    }
    positions.add(position);
    batches.add(batch);
    records += batch.records();
    bytes += batch.payload().retainedBytes();
    return true;
  }

  /** Oldest first. */
  public List<P> positions() {
    return List.copyOf(positions);
  }

  /** Oldest first. */
  public List<LogBatch> batches() {
    return List.copyOf(batches);
  }
}
