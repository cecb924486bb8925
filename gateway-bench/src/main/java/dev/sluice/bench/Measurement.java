package dev.sluice.bench;

import java.io.IOException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/** One case from its first request to its last row, and on to the end of all merges. */
final class Measurement {
  static final String TABLE = "otel_logs";

  private final Engines engines;
  private final LogServer server;
  private final Duration patience;
  private final Map<String, Watched> watched;
  private final Map<String, Double> cpu;
  private final double allocated;
  private final Arrivals arrivals;
  private final long begun;

  /** Begins here. */
  Measurement(Engines engines, LogServer server) throws IOException, InterruptedException {
    this(engines, server, Arrivals.PATIENCE, server.allocatedBytes());
  }

  /**
   * Begins here.
   *
   * @param allocated by a server that is halted, and cannot be asked
   */
  Measurement(Engines engines, LogServer server, double allocated)
      throws IOException, InterruptedException {
    this(engines, server, Arrivals.PATIENCE, allocated);
  }

  /**
   * Begins here.
   *
   * @param patience without a new row for so long, what is missing is lost
   */
  Measurement(Engines engines, LogServer server, Duration patience)
      throws IOException, InterruptedException {
    this(engines, server, patience, server.allocatedBytes());
  }

  private Measurement(Engines engines, LogServer server, Duration patience, double allocated)
      throws IOException, InterruptedException {
    this.engines = engines;
    this.server = server;
    this.patience = patience;
    watched = engines.watched(server);
    arrivals = new Arrivals(engines.database());
    this.allocated = allocated;
    cpu = cpuSeconds();
    begun = System.nanoTime();
  }

  /** Waits for what the load comes to. */
  Outcome of(Load load, String name, int logsPerRequest) throws IOException, InterruptedException {
    if (load.taken() == 0) {
      throw new IOException("no request was answered with success: " + name);
    }
    long accepted = load.taken() * logsPerRequest;
    var last = arrivals.await(accepted, patience);
    var whenStored = cpuSeconds();
    double allocatedBytes = server.allocatedBytes() - allocated;
    engines.database().awaitMerged();
    double mergedAfter = (System.nanoTime() - last.nanos()) / 1e9;
    var whenMerged = cpuSeconds();
    var costs = new LinkedHashMap<String, Outcome.Cost>();
    for (var each : watched.entrySet()) {
      double before = cpu.getOrDefault(each.getKey(), 0.0);
      costs.put(
          each.getKey(),
          new Outcome.Cost(
              (whenStored.getOrDefault(each.getKey(), 0.0) - before) * 1e6 / last.rows(),
              (whenMerged.getOrDefault(each.getKey(), 0.0) - before) * 1e6 / last.rows(),
              each.getValue().peakMebibytes()));
    }
    return new Outcome(
        name,
        logsPerRequest,
        load.others(),
        accepted,
        last.rows(),
        Math.max(0, accepted - last.rows()),
        Math.max(0, last.rows() - accepted - load.open() * logsPerRequest),
        server.imbalance(),
        accepted / load.seconds(),
        last.rows() / ((last.nanos() - Math.max(begun, load.begun())) / 1e9),
        mergedAfter,
        costs,
        allocatedBytes / last.rows(),
        load.cpuSeconds() * 1e6 / accepted,
        load.latency());
  }

  private Map<String, Double> cpuSeconds() throws IOException {
    var seconds = new LinkedHashMap<String, Double>();
    for (var each : watched.entrySet()) {
      seconds.put(each.getKey(), each.getValue().cpuSeconds());
    }
    return seconds;
  }
}
