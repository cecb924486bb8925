package dev.sluice.api.http;

import dev.sluice.core.ingest.MemoryBudget;
import java.time.Duration;

/**
 * What one request holds of the {@link MemoryBudget}, given back when nobody needs it any more: the
 * answer has gone, and the spool is done with the logs. A client that hangs up or is told to come
 * again does not free what its logs still occupy.
 *
 * <p>Safe for use by many threads: a client may hang up while its request is worked on.
 */
final class Reservation implements AutoCloseable {
  private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

  private final MemoryBudget budget;
  private long held;
  private int owners = 1;

  Reservation(MemoryBudget budget) {
    this.budget = budget;
  }

  /**
   * Takes more.
   *
   * @throws RequestRefused when all requests together hold too much: the client may come again
   */
  synchronized void add(long bytes) {
    if (owners == 0 || !budget.reserve(bytes)) {
      throw RequestRefused.busy(RETRY_AFTER);
    }
    held += bytes;
  }

  /** Gives a part back early. */
  synchronized void remove(long bytes) {
    if (owners > 0) {
      held -= bytes;
      budget.release(bytes);
    }
  }

  /** One more owner, who closes it too. */
  synchronized Reservation share() {
    if (owners == 0) {
      throw RequestRefused.busy(RETRY_AFTER);
    }
    owners++;
    return this;
  }

  @Override
  public synchronized void close() {
    if (--owners == 0) {
      budget.release(held);
      held = 0;
    }
  }
}
