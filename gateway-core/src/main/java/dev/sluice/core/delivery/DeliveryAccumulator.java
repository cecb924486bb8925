package dev.sluice.core.delivery;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.SpoolConsumer.DeliveryLimits;
import java.util.ArrayList;
import java.util.List;

/**
 * An accumulator that collects batches, each with its position in the spool, until a limit of the
 * delivery is reached. Not thread-safe.
 *
 * @param <P> the type of a position in the spool
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

  /**
   * Adds a batch unless it would exceed a limit. The first batch is added regardless of its size.
   *
   * @return whether the batch was added
   */
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

  /** Returns the positions of the batches, oldest first. */
  public List<P> positions() {
    return List.copyOf(positions);
  }

  /** Returns the batches, oldest first. */
  public List<LogBatch> batches() {
    return List.copyOf(batches);
  }
}
