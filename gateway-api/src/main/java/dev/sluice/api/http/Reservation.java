package dev.sluice.api.http;

import dev.sluice.core.ingest.MemoryBudget;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/** What one request holds of the {@link MemoryBudget}, given back when it has been answered. */
final class Reservation implements AutoCloseable {
  private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

  private final MemoryBudget budget;
  private final AtomicLong held = new AtomicLong();

  Reservation(MemoryBudget budget) {
    this.budget = budget;
  }

  /**
   * Takes more.
   *
   * @throws RequestRefused when all requests together hold too much: the client may come again
   */
  void add(long bytes) {
    if (!budget.reserve(bytes)) {
      throw RequestRefused.busy(RETRY_AFTER);
    }
    held.addAndGet(bytes);
  }

  /** Gives a part back early. */
  void remove(long bytes) {
    held.addAndGet(-bytes);
    budget.release(bytes);
  }

  @Override
  public void close() {
    budget.release(held.getAndSet(0));
  }
}
