package dev.sluice.bench;

import dev.sluice.bench.Endurance.Measure;
import dev.sluice.bench.Endurance.Sample;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Pattern;

/** Sends for minutes at one rate, and looks at everybody meanwhile. */
final class EnduranceRun {
  private static final int WINDOW_SECONDS = 10;

  /** Who asks for the heap that is in use stops the gateway for a moment: once a minute. */
  private static final int WINDOWS_PER_HEAP = 6;

  private static final Pattern TOTAL = Pattern.compile("(?m)^Total\\s+\\d+\\s+(\\d+)");

  private final Engines engines;
  private final Gateway gateway;
  private final Map<String, Watched> watched;
  private final List<Look> looks = new ArrayList<>();
  private final long rows;

  /** Around at one moment. */
  private record Look(long nanos, Map<Measure, Double> values) {}

  EnduranceRun(Engines engines, Gateway gateway) throws IOException, InterruptedException {
    this.engines = engines;
    this.gateway = gateway;
    watched = engines.watched(gateway);
    rows = engines.database().rows(Measurement.TABLE);
  }

  Endurance of(Vegeta vegeta, int minutes, int logs) throws IOException, InterruptedException {
    var measurement = new Measurement(engines, gateway);
    var load =
        Meanwhile.sending(
            () -> vegeta.send(minutes * 60),
            WINDOW_SECONDS,
            () -> looks.add(new Look(System.nanoTime(), now())));
    var outcome = measurement.of(load, "endurance", logs);
    var latencies = vegeta.latencies(WINDOW_SECONDS);
    var samples = new ArrayList<Sample>();
    for (var look : looks) {
      double second = (look.nanos - load.begun()) / 1e9;
      var latency = latencies.get(Math.round(second / WINDOW_SECONDS) - 1);
      if (latency != null) {
        look.values.put(Measure.P99, latency.p99());
      }
      samples.add(new Sample(second, look.values));
    }
    return new Endurance(vegeta.perSecond() * logs, outcome, samples);
  }

  private Map<Measure, Double> now() throws IOException, InterruptedException {
    var now = new EnumMap<Measure, Double>(Measure.class);
    var spooled = engines.spooled();
    now.put(Measure.ENTRIES, (double) spooled.entries());
    now.put(Measure.PENDING, (double) spooled.pending());
    now.put(Measure.GATEWAY, resident("gateway"));
    now.put(Measure.REDIS, resident("Redis"));
    now.put(Measure.CLICKHOUSE, resident("ClickHouse"));
    now.put(Measure.PARTS, (double) OldRows.active(engines.database(), "count()"));
    now.put(Measure.STORED, (double) engines.database().rows(Measurement.TABLE) - rows);
    if (looks.size() % WINDOWS_PER_HEAP == 0) {
      now.put(Measure.HEAP, heapMebibytes(gateway.pid()));
    }
    return now;
  }

  private double resident(String process) throws IOException {
    return Objects.requireNonNull(watched.get(process)).residentMebibytes();
  }

  /** What is reachable, whatever the collector and however long ago it last looked everywhere. */
  private static double heapMebibytes(long pid) throws IOException, InterruptedException {
    var jcmd = Path.of(System.getProperty("java.home"), "bin", "jcmd").toString();
    var said =
        Generator.run(Map.of(), List.of(jcmd, Long.toString(pid), "GC.class_histogram")).said();
    var total = TOTAL.matcher(said);
    if (!total.find()) {
      throw new IOException("jcmd does not tell the heap: " + said);
    }
    return Double.parseDouble(total.group(1)) / (1 << 20);
  }
}
