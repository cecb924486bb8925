package dev.sluice.core.ingest;

/** How fast a count grows, as an average that forgets over some ten seconds. For one thread. */
final class EwmaRate {
  private static final double TIME_CONSTANT_SECONDS = 10;

  private long lastNanos;
  private long lastCount = -1;
  private double perSecond = Double.NaN;

  /**
   * @param now nanoseconds, of any origin
   * @param count of all time; one smaller than before begins anew
   * @param busy whether there is anything left to count: when there was nothing to do, that nothing
   *     was done says nothing of the speed
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

  /** Not a number until there was something to measure. */
  double perSecond() {
    return perSecond;
  }
}
