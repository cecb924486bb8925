package dev.sluice.bench;

import dev.sluice.bench.SoakTest.Measure;
import dev.sluice.bench.SoakTest.Sample;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Pattern;

/** An endurance run: sends at one rate for minutes and samples the gateway and its engines. */
final class SoakRun {
  private static final int WINDOW_SECONDS = 10;

  /**
   * The windows between two heap samples. A heap sample stops the gateway for a moment, so it is
   * taken once a minute.
   */
  private static final int WINDOWS_PER_HEAP = 6;

  private static final Pattern TOTAL = Pattern.compile("(?m)^Total\\s+\\d+\\s+(\\d+)");

  private final BenchEngines engines;
  private final Gateway gateway;
  private final Map<String, ProcessStats> processes;
  private final List<Observation> observations = new ArrayList<>();
  private final long rows;

  /** The values at one moment. */
  private record Observation(long nanos, Map<Measure, Double> values) {}

  SoakRun(BenchEngines engines, Gateway gateway) throws IOException, InterruptedException {
    this.engines = engines;
    this.gateway = gateway;
    processes = engines.processStats(gateway);
    rows = engines.database().countRows(Measurement.TABLE);
  }

  SoakTest run(Vegeta vegeta, int minutes, int logs) throws IOException, InterruptedException {
    var measurement = new Measurement(engines, gateway);
    var load =
        Sampler.sendSampled(
            () -> vegeta.send(minutes * 60),
            WINDOW_SECONDS,
            () -> observations.add(new Observation(System.nanoTime(), observe())));
    var caseResult = measurement.await(load, "endurance", logs);
    var latencies = vegeta.latencies(WINDOW_SECONDS);
    var samples = new ArrayList<Sample>();
    for (var observation : observations) {
      double second = (observation.nanos - load.startNanos()) / 1e9;
      var latency = latencies.get(Math.round(second / WINDOW_SECONDS) - 1);
      if (latency != null) {
        observation.values.put(Measure.P99, latency.p99());
      }
      samples.add(new Sample(second, observation.values));
    }
    return new SoakTest(vegeta.perSecond() * logs, caseResult, samples);
  }

  private Map<Measure, Double> observe() throws IOException, InterruptedException {
    var now = new EnumMap<Measure, Double>(Measure.class);
    var spoolBacklog = engines.spoolBacklog();
    now.put(Measure.ENTRIES, (double) spoolBacklog.entries());
    now.put(Measure.PENDING, (double) spoolBacklog.pending());
    now.put(Measure.GATEWAY, resident("gateway"));
    now.put(Measure.REDIS, resident("Redis"));
    now.put(Measure.CLICKHOUSE, resident("ClickHouse"));
    now.put(
        Measure.PARTS, (double) PreloadedRows.activePartsStatistic(engines.database(), "count()"));
    now.put(Measure.STORED, (double) engines.database().countRows(Measurement.TABLE) - rows);
    if (observations.size() % WINDOWS_PER_HEAP == 0) {
      now.put(Measure.HEAP, heapMebibytes(gateway.pid()));
    }
    return now;
  }

  private double resident(String process) throws IOException {
    return Objects.requireNonNull(processes.get(process)).residentMebibytes();
  }

  /**
   * Returns the reachable heap in MiB, independent of the collector and of its last full
   * collection.
   */
  private static double heapMebibytes(long pid) throws IOException, InterruptedException {
    var jcmd = Path.of(System.getProperty("java.home"), "bin", "jcmd").toString();
    var output =
        LoadGenerator.run(Map.of(), List.of(jcmd, Long.toString(pid), "GC.class_histogram"))
            .output();
    var total = TOTAL.matcher(output);
    if (!total.find()) {
      throw new IOException("the output of jcmd has no heap size: " + output);
    }
    return Double.parseDouble(total.group(1)) / (1 << 20);
  }
}
