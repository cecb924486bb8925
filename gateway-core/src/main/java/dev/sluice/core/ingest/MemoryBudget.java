package dev.sluice.core.ingest;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Bytes that all requests together may hold, from their first byte read until their answer.
 *
 * <p>This is what bounds the heap under overload: whoever cannot reserve is told to come again
 * later, however many connections there are. Safe for use by many threads.
 */
public final class MemoryBudget {
  private final long limit;
  private final AtomicLong used = new AtomicLong();

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
  }

  /** Bytes in use. */
  public long used() {
    return used.get();
  }

  public long limit() {
    return limit;
  }
}
