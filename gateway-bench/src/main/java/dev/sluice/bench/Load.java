package dev.sluice.bench;

/**
 * What a load generator has done.
 *
 * @param taken requests answered with success
 * @param others requests answered otherwise, or not at all
 * @param open requests that may be under way yet, or whose end is not known
 * @param seconds it sent
 * @param latency of the answers
 * @param cpuSeconds the generator has used, its start among them
 * @param begun {@link System#nanoTime} when it began to send, which is later than its start by the
 *     time it takes to read what it sends
 */
record Load(
    long taken,
    long others,
    long open,
    double seconds,
    Latency latency,
    double cpuSeconds,
    long begun) {

  /** Both, one after the other; of how long answers took, the worse. */
  Load and(Load next) {
    return new Load(
        taken + next.taken,
        others + next.others,
        open + next.open,
        seconds + next.seconds,
        new Latency(
            Math.max(latency.p50(), next.latency.p50()),
            Math.max(latency.p95(), next.latency.p95()),
            Math.max(latency.p99(), next.latency.p99()),
            Math.max(latency.p999(), next.latency.p999())),
        cpuSeconds + next.cpuSeconds,
        begun);
  }

  /** By a program that ends when its last answer has come. */
  Load by(Generator.Ended program) {
    long sending = Math.round(seconds * 1e9);
    return new Load(
        taken, others, open, seconds, latency, program.cpuSeconds(), program.nanos() - sending);
  }
}
