package dev.sluice.core.ingest;

/**
 * The growth rate of a count: an exponentially weighted moving average with a time constant of ten
 * seconds. Not thread-safe.
 */
final class EwmaRate {
  private static final double TIME_CONSTANT_SECONDS = 10;

  private long lastNanos;
  private long lastCount = -1;
  private double perSecond = Double.NaN;

  /**
   * Adds a sample.
   *
   * @param now the time in nanoseconds, of any origin
   * @param count the cumulative count; a smaller value than the previous one restarts the
   *     measurement
   * @param busy whether work is pending: without pending work, an unchanged count does not lower
   *     the rate
   */
  void sample(long now, long count, boolean busy) {
    double seconds = (now - lastNanos) / 1e9;
    long delta = count - lastCount;
    if (lastCount >= 0 && delta >= 0 && seconds > 0 && (busy || delta > 0)) {
      double measured = delta / seconds;
      perSecond =
          Double.isNaN(perSecond)
              ? measured
              : perSecond + (measured - perSecond) * -Math.expm1(-seconds / TIME_CONSTANT_SECONDS);
    }
    lastNanos = now;
    lastCount = count;
  }

  /** Returns the rate per second; NaN until there is a measurement. */
  double perSecond() {
    return perSecond;
  }
}
