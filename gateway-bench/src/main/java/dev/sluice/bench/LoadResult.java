package dev.sluice.bench;

/**
 * The result of a load.
 *
 * @param succeeded the number of requests with a success response
 * @param failed the number of requests without a success response
 * @param unresolved the number of requests that may still be in flight, or whose outcome is unknown
 * @param seconds the duration of the load
 * @param latency the latency of the responses
 * @param cpuSeconds the CPU seconds of the generator, including its start
 * @param startNanos the time of the first request, as {@link System#nanoTime}; later than the start
 *     of the generator, which first reads its bodies
 */
record LoadResult(
    long succeeded,
    long failed,
    long unresolved,
    double seconds,
    Latency latency,
    double cpuSeconds,
    long startNanos) {

  /**
   * Returns the sum of two consecutive loads. The latency is the higher one of both for each
   * percentile.
   */
  LoadResult plus(LoadResult next) {
    return new LoadResult(
        succeeded + next.succeeded,
        failed + next.failed,
        unresolved + next.unresolved,
        seconds + next.seconds,
        new Latency(
            Math.max(latency.p50(), next.latency.p50()),
            Math.max(latency.p95(), next.latency.p95()),
            Math.max(latency.p99(), next.latency.p99()),
            Math.max(latency.p999(), next.latency.p999())),
        cpuSeconds + next.cpuSeconds,
        startNanos);
  }

  /** Adds the CPU and the start time of a generator that exits with its last response. */
  LoadResult withProcess(LoadGenerator.ProcessResult program) {
    long sending = Math.round(seconds * 1e9);
    return new LoadResult(
        succeeded,
        failed,
        unresolved,
        seconds,
        latency,
        program.cpuSeconds(),
        program.endNanos() - sending);
  }
}
