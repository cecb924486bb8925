package dev.sluice.bench;

import java.io.IOException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;

/** One case from its first request to its last row, and on to the end of all merges. */
final class Measurement {
  static final String TABLE = "otel_logs";

  /** After the last row that was waited for; what is stored twice would come later. */
  private static final Duration STILL = Duration.ofSeconds(3);

  /** Without a new row what is missing is lost. */
  private static final Duration PATIENCE = Duration.ofMinutes(2);

  private final Engines engines;
  private final Gateway gateway;
  private final Map<String, Watched> watched;
  private final Map<String, Double> cpu;
  private final long rows;
  private final long begun;

  /** Begins here. */
  Measurement(Engines engines, Gateway gateway) throws IOException, InterruptedException {
    this.engines = engines;
    this.gateway = gateway;
    watched = engines.watched(gateway);
    rows = engines.database().rows(TABLE);
    cpu = cpuSeconds();
    begun = System.nanoTime();
  }

  /** Waits for what the load comes to. */
  Outcome of(Load load, String name, int logsPerRequest) throws IOException, InterruptedException {
    if (load.taken() == 0) {
      throw new IOException("no request was answered with success: " + name);
    }
    long accepted = load.taken() * logsPerRequest;
    var last = awaitRows(accepted);
    var whenStored = cpuSeconds();
    engines.database().awaitMerged();
    double mergedAfter = (System.nanoTime() - last.nanos) / 1e9;
    var whenMerged = cpuSeconds();
    var costs = new LinkedHashMap<String, Outcome.Cost>();
    for (var each : watched.entrySet()) {
      double before = cpu.getOrDefault(each.getKey(), 0.0);
      costs.put(
          each.getKey(),
          new Outcome.Cost(
              (whenStored.getOrDefault(each.getKey(), 0.0) - before) * 1e6 / last.rows,
              (whenMerged.getOrDefault(each.getKey(), 0.0) - before) * 1e6 / last.rows,
              each.getValue().peakMebibytes()));
    }
    return new Outcome(
        name,
        logsPerRequest,
        load.others(),
        accepted,
        last.rows,
        Math.max(0, accepted - last.rows),
        Math.max(0, last.rows - accepted - load.open() * logsPerRequest),
        gateway.ledger().path("imbalance").asLong(),
        accepted / load.seconds(),
        last.rows / ((last.nanos - Math.max(begun, load.begun())) / 1e9),
        mergedAfter,
        costs,
        load.cpuSeconds() * 1e6 / accepted,
        load.latency());
  }

  /** How many rows have come, and when the last did. */
  private record Arrived(long rows, long nanos) {}

  private Arrived awaitRows(long accepted) throws IOException, InterruptedException {
    var arrived = new Arrived(0, System.nanoTime());
    while (true) {
      long now = engines.database().rows(TABLE) - rows;
      if (now != arrived.rows) {
        arrived = new Arrived(now, System.nanoTime());
      }
      long still = System.nanoTime() - arrived.nanos;
      if (still > (now >= accepted ? STILL : PATIENCE).toNanos()) {
        return arrived;
      }
      Thread.sleep(100);
    }
  }

  private Map<String, Double> cpuSeconds() throws IOException {
    var seconds = new LinkedHashMap<String, Double>();
    for (var each : watched.entrySet()) {
      seconds.put(each.getKey(), each.getValue().cpuSeconds());
    }
    return seconds;
  }
}
