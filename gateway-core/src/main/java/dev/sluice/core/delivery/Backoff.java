package dev.sluice.core.delivery;

import java.time.Duration;
import java.util.random.RandomGenerator;

/**
 * An exponential backoff: delays that double up to a maximum, each reduced by a random part of up
 * to one half, so that workers that failed together do not retry together. Not thread-safe.
 */
public final class Backoff {

  /** A function that sleeps; tests replace it. */
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
   * @param initialDelay the first delay before jitter, positive
   * @param maxDelay the maximum delay
   */
  public Backoff(
      Duration initialDelay, Duration maxDelay, Sleeper sleeper, RandomGenerator random) {
    if (!initialDelay.isPositive() || maxDelay.compareTo(initialDelay) < 0) {
      throw new IllegalArgumentException(
          "backoff delays must be positive and increasing: from %s to %s"
              .formatted(initialDelay, maxDelay));
    }
    this.initialDelay = initialDelay;
    this.maxDelay = maxDelay;
    this.sleeper = sleeper;
    this.random = random;
    this.nextDelay = initialDelay;
  }

  /** Sleeps for the next delay, and doubles the delay after it. */
  public void pause() throws InterruptedException {
    long nanos = nextDelay.toNanos();
    var pause = Duration.ofNanos(nanos - (long) (nanos * 0.5 * random.nextDouble()));
    nextDelay =
        nextDelay.compareTo(maxDelay.dividedBy(2)) > 0 ? maxDelay : nextDelay.multipliedBy(2);
    sleeper.sleep(pause);
  }

  /** Resets the delay to its initial value, after a success. */
  public void reset() {
    nextDelay = initialDelay;
  }
}
