package dev.sluice.core.delivery;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.Deliveries.Bounds;
import java.util.ArrayList;
import java.util.List;

/**
 * A delivery in the making: batches, each with its place in the spool, until the bounds are met.
 * For one thread.
 *
 * @param <P> a place in the spool
 */
public final class Gathering<P> {
  private final Bounds bounds;
  private final List<P> places = new ArrayList<>();
  private final List<LogBatch> batches = new ArrayList<>();
  private long records;
  private long bytes;

  public Gathering(Bounds bounds) {
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
            || bytes + batch.contents().held() > bounds.maxBytes())) {
      return false;
    }
    places.add(place);
    batches.add(batch);
    records += batch.records();
    bytes += batch.contents().held();
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
