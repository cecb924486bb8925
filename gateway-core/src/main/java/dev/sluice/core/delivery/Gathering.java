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
public final class Gathering<P> {
  private final DeliveryLimits bounds;
  private final List<P> places = new ArrayList<>();
  private final List<LogBatch> batches = new ArrayList<>();
  private long records;
  private long bytes;

  public Gathering(DeliveryLimits bounds) {
    this.bounds = bounds;
  }

  public boolean isEmpty() {
    return places.isEmpty();
  }

  public boolean isFull() {
    return records >= bounds.maxRecords() || bytes >= bounds.maxBytes();
  }

  /** Takes the batch unless the bounds forbid; the first is taken whatever its size. */
  public boolean add(P place, LogBatch batch) {
    if (!isEmpty()
        && (isFull()
            || records + batch.records() > bounds.maxRecords()
            || bytes + batch.payload().retainedBytes() > bounds.maxBytes())) {
      return false;
    }
    places.add(place);
    batches.add(batch);
    records += batch.records();
    bytes += batch.payload().retainedBytes();
    return true;
  }

  /** Oldest first. */
  public List<P> places() {
    return List.copyOf(places);
  }

  /** Oldest first. */
  public List<LogBatch> batches() {
    return List.copyOf(batches);
  }
}
