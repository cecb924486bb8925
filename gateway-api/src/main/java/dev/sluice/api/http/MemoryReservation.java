package dev.sluice.api.http;

import dev.sluice.core.ingest.MemoryBudget;
import java.time.Duration;
import java.util.function.Supplier;

/**
 * What one request holds of the {@link MemoryBudget}, given back when nobody needs it any more: the
 * answer has gone, and the spool is done with the logs. A client that hangs up or is told to come
 * again does not free what its logs still occupy.
 *
 * <p>Safe for use by many threads: a client may hang up while its request is worked on.
 */
final class MemoryReservation implements AutoCloseable {
  private final MemoryBudget budget;
  private final Supplier<Duration> retryAfter;
  private long heldBytes;
  private int owners = 1;

  /**
   * @param retryAfter when to come again if there is no room
   */
  MemoryReservation(MemoryBudget budget, Supplier<Duration> retryAfter) {
    this.budget = budget;
    this.retryAfter = retryAfter;
  }

  /**
   * Takes more.
   *
   * @throws HttpProblemException when all requests together hold too much: the client may come
   *     again
   */
  synchronized void add(long bytes) {
    if (owners == 0 || !budget.reserve(bytes)) {
      throw HttpProblemException.spoolUnavailable(retryAfter.get());
    }
    heldBytes += bytes;
  }

  /** Gives a part back early. */
  synchronized void remove(long bytes) {
    if (owners > 0) {
      heldBytes -= bytes;
      budget.release(bytes);
    }
  }

  /** One more owner, who closes it too. */
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
