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

  private final Duration initialDelay;
  private final Duration maxDelay;
  private final Sleeper sleeper;
  private final RandomGenerator random;
  private Duration nextDelay;

  /**
   * @param initialDelay the first pause before jitter, positive
   * @param maxDelay the longest pause
   */
  public Backoff(
      Duration initialDelay, Duration maxDelay, Sleeper sleeper, RandomGenerator random) {
    if (!initialDelay.isPositive() || maxDelay.compareTo(initialDelay) < 0) {
      throw new IllegalArgumentException("backoff from " + initialDelay + " to " + maxDelay);
    }
    this.initialDelay = initialDelay;
    this.maxDelay = maxDelay;
    this.sleeper = sleeper;
    this.random = random;
    this.nextDelay = initialDelay;
  }

  /** Waits, and makes the next wait longer. */
  public void pause() throws InterruptedException {
    long nanos = nextDelay.toNanos();
    var pause = Duration.ofNanos(nanos - (long) (nanos * 0.5 * random.nextDouble()));
    nextDelay =
        nextDelay.compareTo(maxDelay.dividedBy(2)) > 0 ? maxDelay : nextDelay.multipliedBy(2);
    sleeper.sleep(pause);
  }

  /** Things go well: the next pause is the first again. */
  public void reset() {
    nextDelay = initialDelay;
  }
}
