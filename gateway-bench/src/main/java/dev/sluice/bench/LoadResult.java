package dev.sluice.bench;

/**
 * What a load generator has done.
 *
 * @param succeeded requests answered with success
 * @param failed requests answered otherwise, or not at all
 * @param unresolved requests that may be under way yet, or whose end is not known
 * @param seconds it sent
 * @param latency of the answers
 * @param cpuSeconds the generator has used, its start among them
 * @param startNanos {@link System#nanoTime} when it began to send, which is later than its start by
 *     the time it takes to read what it sends
 */
record LoadResult(
    long succeeded,
    long failed,
    long unresolved,
    double seconds,
    Latency latency,
    double cpuSeconds,
    long startNanos) {

  /** Both, one after the other; of how long answers took, the worse. */
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

  /** By a program that ends when its last answer has come. */
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
