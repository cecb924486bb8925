package dev.sluice.core.ingest;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;

/**
 * Bytes that all requests together may hold, from their first byte read until their answer, or
 * until their logs are in the spool where that is later.
 *
 * <p>This is what bounds the heap under overload: whoever cannot reserve is told to come again
 * later, however many connections there are. Safe for use by many threads.
 */
public final class MemoryBudget {
  private final long limit;
  private final AtomicLong used = new AtomicLong();
  private final LongAdder released = new LongAdder();

  /**
   * @param limit bytes, positive
   */
  public MemoryBudget(long limit) {
    if (limit <= 0) {
      throw new IllegalArgumentException("a budget of " + limit + " bytes");
    }
    this.limit = limit;
  }

  /** Takes {@code bytes} out of the budget, or leaves it as it was and says no. */
  public boolean reserve(long bytes) {
    if (used.addAndGet(bytes) <= limit) {
      return true;
    }
    used.addAndGet(-bytes);
    return false;
  }

  /** Gives back what {@link #reserve} granted. */
  public void release(long bytes) {
    used.addAndGet(-bytes);
    released.add(bytes);
  }

  /** Bytes in use. */
  public long used() {
    return used.get();
  }

  /** Bytes given back over the life of the budget, from which a rate can be made. */
  public long released() {
    return released.sum();
  }

  public long limit() {
    return limit;
  }
}
