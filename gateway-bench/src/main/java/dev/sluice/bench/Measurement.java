package dev.sluice.bench;

import java.io.IOException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The measurement of one case, from its first request to its last row and then to the end of all
 * merges.
 */
final class Measurement {
  static final String TABLE = "otel_logs";

  private final BenchEngines engines;
  private final LogServer server;
  private final Duration stallTimeout;
  private final Map<String, ProcessStats> processes;
  private final Map<String, Double> cpu;
  private final double allocated;
  private final RowCounter rowCounter;
  private final long startNanos;

  /** Starts a measurement. */
  Measurement(BenchEngines engines, LogServer server) throws IOException, InterruptedException {
    this(engines, server, RowCounter.STALL_TIMEOUT, server.allocatedBytes());
  }

  /**
   * Starts a measurement of a suspended server, which cannot report its allocation.
   *
   * @param allocated the heap bytes that the server had allocated before it was suspended
   */
  Measurement(BenchEngines engines, LogServer server, double allocated)
      throws IOException, InterruptedException {
    this(engines, server, RowCounter.STALL_TIMEOUT, allocated);
  }

  /**
   * Starts a measurement.
   *
   * @param stallTimeout the time without a new row after which missing rows count as lost
   */
  Measurement(BenchEngines engines, LogServer server, Duration stallTimeout)
      throws IOException, InterruptedException {
    this(engines, server, stallTimeout, server.allocatedBytes());
  }

  private Measurement(
      BenchEngines engines, LogServer server, Duration stallTimeout, double allocated)
      throws IOException, InterruptedException {
    this.engines = engines;
    this.server = server;
    this.stallTimeout = stallTimeout;
    processes = engines.processStats(server);
    rowCounter = new RowCounter(engines.database());
    this.allocated = allocated;
    cpu = cpuSeconds();
    startNanos = System.nanoTime();
  }

  /** Waits until the logs of the load are stored and merged, and returns the result. */
  CaseResult await(LoadResult load, String name, int logsPerRequest)
      throws IOException, InterruptedException {
    if (load.succeeded() == 0) {
      throw new IOException("no request had a success response: " + name);
    }
    long accepted = load.succeeded() * logsPerRequest;
    var finalCount = rowCounter.await(accepted, stallTimeout);
    var whenStored = cpuSeconds();
    double allocatedBytes = server.allocatedBytes() - allocated;
    engines.database().awaitMerges();
    double mergedAfter = (System.nanoTime() - finalCount.lastRowNanos()) / 1e9;
    var whenMerged = cpuSeconds();
    var costs = new LinkedHashMap<String, CaseResult.Cost>();
    for (var each : processes.entrySet()) {
      double before = cpu.getOrDefault(each.getKey(), 0.0);
      costs.put(
          each.getKey(),
          new CaseResult.Cost(
              (whenStored.getOrDefault(each.getKey(), 0.0) - before) * 1e6 / finalCount.rows(),
              (whenMerged.getOrDefault(each.getKey(), 0.0) - before) * 1e6 / finalCount.rows(),
              each.getValue().peakMebibytes()));
    }
    return new CaseResult(
        name,
        logsPerRequest,
        load.failed(),
        accepted,
        finalCount.rows(),
        Math.max(0, accepted - finalCount.rows()),
        Math.max(0, finalCount.rows() - accepted - load.unresolved() * logsPerRequest),
        server.imbalance(),
        accepted / load.seconds(),
        finalCount.rows()
            / ((finalCount.lastRowNanos() - Math.max(startNanos, load.startNanos())) / 1e9),
        mergedAfter,
        costs,
        allocatedBytes / finalCount.rows(),
        load.cpuSeconds() * 1e6 / accepted,
        load.latency());
  }

  private Map<String, Double> cpuSeconds() throws IOException {
    var seconds = new LinkedHashMap<String, Double>();
    for (var each : processes.entrySet()) {
      seconds.put(each.getKey(), each.getValue().cpuSeconds());
    }
    return seconds;
  }
}
