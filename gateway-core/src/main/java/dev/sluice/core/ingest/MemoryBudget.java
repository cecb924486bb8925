package dev.sluice.core.ingest;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/**
 * A limit on the memory of all requests together. A request holds its reservation from its first
 * byte until its response, or until its logs are in the spool, whichever is later.
 *
 * <p>The budget bounds the heap under overload, regardless of the number of connections: a request
 * without a reservation is rejected as unavailable, and its client retries. Thread-safe.
 */
public final class MemoryBudget {
  private final long limit;
  private final AtomicLong used = new AtomicLong();
  private final LongAdder released = new LongAdder();

  /**
   * @param limit the limit in bytes, positive
   */
  public MemoryBudget(long limit) {
    if (limit <= 0) {
      throw new IllegalArgumentException("memory budget is " + limit + " bytes, must be positive");
    }
    this.limit = limit;
  }

  /**
   * Reserves memory.
   *
   * @return false when the budget has less than {@code bytes} left; nothing is reserved then
   */
  public boolean reserve(long bytes) {
    // Compares before it adds: a request that does not fit must not cause one that fits to fail.
    long current = used.get();
    while (bytes <= limit - current) {
      long seen = used.compareAndExchange(current, current + bytes);
      if (seen == current) {
        return true;
      }
      current = seen;
    }
    return false;
  }

  /** Releases memory that {@link #reserve} has reserved. */
  public void release(long bytes) {
    used.addAndGet(-bytes);
    released.add(bytes);
  }

  /** Returns the reserved bytes. */
  public long used() {
    return used.get();
  }

  /** Returns the bytes released over the life of the budget, from which callers compute a rate. */
  public long released() {
    return released.sum();
  }

  public long limit() {
    return limit;
  }
}
