package dev.sluice.bench;

import java.util.Arrays;

/** The latency of responses: percentiles in milliseconds. */
record Latency(double p50, double p95, double p99, double p999) {

  /**
   * Computes the percentiles of at least one response.
   *
   * @param nanos the latencies in nanoseconds
   */
  static Latency of(long[] nanos) {
    var sorted = nanos.clone();
    Arrays.sort(sorted);
    return new Latency(
        percentile(sorted, 0.5),
        percentile(sorted, 0.95),
        percentile(sorted, 0.99),
        percentile(sorted, 0.999));
  }

  private static double percentile(long[] sorted, double share) {
    return sorted[(int) Math.ceil(share * sorted.length) - 1] / 1e6;
  }
}
