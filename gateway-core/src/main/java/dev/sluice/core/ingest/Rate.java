package dev.sluice.core.ingest;

/** How fast a count grows, as an average that forgets over some ten seconds. For one thread. */
final class Rate {
  private static final double MEMORY_SECONDS = 10;

  private long nanosBefore;
  private long countBefore = -1;
  private double perSecond = Double.NaN;

  /**
   * @param now nanoseconds, of any origin
   * @param count of all time; one smaller than before begins anew
   * @param busy whether there is anything left to count: when there was nothing to do, that nothing
   *     was done says nothing of the speed
   */
  void sample(long now, long count, boolean busy) {
    double seconds = (now - nanosBefore) / 1e9;
    long grown = count - countBefore;
    if (countBefore >= 0 && grown >= 0 && seconds > 0 && (busy || grown > 0)) {
      double measured = grown / seconds;
      perSecond =
          Double.isNaN(perSecond)
              ? measured
              : perSecond + (measured - perSecond) * -Math.expm1(-seconds / MEMORY_SECONDS);
    }
    nanosBefore = now;
    countBefore = count;
  }

  /** Not a number until there was something to measure. */
  double perSecond() {
    return perSecond;
  }
}
