package dev.sluice.core.delivery;

import java.time.Duration;
import java.util.random.RandomGenerator;

/**
 * Pauses that double up to a limit, each cut by a random part of up to a half, so that many workers
 * that failed together do not come back together. For one thread.
 */
public final class Backoff {

  /** How to wait; a test's clock does not. */
  @FunctionalInterface
  public interface Sleeper {
    void sleep(Duration pause) throws InterruptedException;
  }

  private final Duration first;
  private final Duration limit;
  private final Sleeper sleeper;
  private final RandomGenerator random;
  private Duration next;

  /**
   * @param first the first pause before jitter, positive
   * @param limit the longest pause
   */
  public Backoff(Duration first, Duration limit, Sleeper sleeper, RandomGenerator random) {
    if (!first.isPositive() || limit.compareTo(first) < 0) {
      throw new IllegalArgumentException("backoff from " + first + " to " + limit);
    }
    this.first = first;
    this.limit = limit;
    this.sleeper = sleeper;
    this.random = random;
    this.next = first;
  }

  /** Waits, and makes the next wait longer. */
  public void pause() throws InterruptedException {
    long nanos = next.toNanos();
    var pause = Duration.ofNanos(nanos - (long) (nanos * 0.5 * random.nextDouble()));
    next = next.compareTo(limit.dividedBy(2)) > 0 ? limit : next.multipliedBy(2);
    sleeper.sleep(pause);
  }

  /** Things go well: the next pause is the first again. */
  public void reset() {
    next = first;
  }
}
