package dev.sluice.api.http;

import dev.sluice.core.ingest.MemoryBudget;
import java.time.Duration;
import java.util.function.Supplier;

/**
 * The memory that one request reserves of the {@link MemoryBudget}. It has several owners and is
 * released when the last one closes it: after the response, and after the append of the logs. A
 * disconnect or a 503 does not release the memory that the logs still occupy.
 *
 * <p>Safe for use by many threads: a client may disconnect while its request is processed.
 */
final class MemoryReservation implements AutoCloseable {
  private final MemoryBudget budget;
  private final Supplier<Duration> retryAfter;
  private long heldBytes;
  private int owners = 1;

  /**
   * @param retryAfter the source of the Retry-After of requests that exceed the budget
   */
  MemoryReservation(MemoryBudget budget, Supplier<Duration> retryAfter) {
    this.budget = budget;
    this.retryAfter = retryAfter;
  }

  /**
   * Reserves more memory.
   *
   * @throws HttpProblemException when all requests together exceed the budget; the client may retry
   */
  synchronized void add(long bytes) {
    if (owners == 0 || !budget.reserve(bytes)) {
      throw HttpProblemException.spoolUnavailable(retryAfter.get());
    }
    heldBytes += bytes;
  }

  /** Releases a part of the memory early. */
  synchronized void remove(long bytes) {
    if (owners > 0) {
      heldBytes -= bytes;
      budget.release(bytes);
    }
  }

  /** Adds an owner, which must close the reservation, too. */
  synchronized MemoryReservation retain() {
    if (owners == 0) {
      throw HttpProblemException.spoolUnavailable(retryAfter.get());
    }
    owners++;
    return this;
  }

  @Override
  public synchronized void close() {
    if (--owners == 0) {
      budget.release(heldBytes);
      heldBytes = 0;
    }
  }
}
