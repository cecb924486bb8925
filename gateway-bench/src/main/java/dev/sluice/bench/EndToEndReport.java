package dev.sluice.bench;

import dev.sluice.bench.RequestBodies.BodyFormat;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The end-to-end report: for each protocol, the CPU cost of a log from its request to its row, and
 * the number of logs per second that one machine accepts and stores. Gateway, Redis, ClickHouse and
 * the load generator share the machine. Each case has its own gateway and its own engines, which
 * are empty at first. A case warms up, waits until everything is stored and merged, and then
 * measures. The {@link ClickHouseBaseline}, measured in the same run, is the reference: rates
 * differ between machines and between hours, CPU per log and its ratio to the baseline hardly do.
 *
 * <p>Run by {@code make bench}. Environment variables: {@code SECONDS_EACH}, 60 by default; {@code
 * WARM_UP}, 30; {@code CASES}, names of {@link Case}; {@code BODIES}, the number of distinct bodies
 * of 500 logs, 2048; {@code DRAIN_LOGS}, five million; {@code OPEN_RATE}, the logs per second of
 * the open loop, by default a fixed share of the rate that OTLP/HTTP reached; {@code OUT}, the
 * directory of the report (see {@link ReportWriter#write} and {@link ReportWriter#writeTargets});
 * and {@code JAVA_OPTS}. The exit status is 1 when a log is lost or extra.
 */
public final class EndToEndReport {
  private static final int LOGS = 500;
  private static final int FEW_CONNECTIONS = 8;
  private static final int MANY_CONNECTIONS = 64;

  /**
   * The rate of the open loop as a share of the OTLP/HTTP rate; above the rate that can be stored,
   * the backlog grows without bound.
   */
  private static final double OPEN_SHARE = 0.7;

  /** The number of distinct single-object bodies; more strings would load wrk and the machine. */
  private static final int OBJECT_BODIES = 250_000;

  private static final int ARRAY_LOGS = 100;

  /** The Redis memory for each log in the stream, in bytes; about three times the memory in use. */
  private static final int STREAM_BYTES = 256;

  private static final int FILL_SECONDS = 2;

  private final int seconds = Environment.number("SECONDS_EACH", 60);
  private final int warmUp = Environment.number("WARM_UP", 30);
  private final int bodies = Environment.number("BODIES", 2048);
  private final int drainLogs = Environment.number("DRAIN_LOGS", 5_000_000);
  private final double openRate = Environment.number("OPEN_RATE", 0);
  private final List<CaseResult> outcomes = new ArrayList<>();
  private final Map<Case, CaseResult> outcomesByCase = new EnumMap<>(Case.class);
  private @Nullable ClickHouseBaseline baseline;
  private String versions = "";

  /**
   * The OTLP/HTTP rate in logs per second: the lower of the accepted and the stored rate, because
   * logs that are accepted faster than they are stored only extend the backlog.
   */
  private double otlpRate;

  private EndToEndReport() {}

  /** The cases of the report. {@code CASES} contains their names in lower case. */
  enum Case {
    OTLP("OTLP/HTTP, 500 logs per request"),
    GZIP("OTLP/HTTP, gzip"),
    GRPC("OTLP/gRPC, 500 logs per request"),
    JSON("JSON, one object per request"),
    ARRAYS("JSON, arrays of 100"),
    OPEN("OTLP/HTTP, open loop"),
    DRAIN("drain of a full stream");

    final String title;

    Case(String title) {
      this.title = title;
    }

    static List<Case> parse(String names) {
      return Arrays.stream(names.strip().split("[\\s,]+"))
          .map(name -> valueOf(name.toUpperCase(Locale.ROOT)))
          .toList();
    }
  }

  public static void main(String[] arguments) throws Exception {
    Locale.setDefault(Locale.ROOT); // programs parse the report too
    var cases = Case.parse(Environment.text("CASES", "otlp gzip grpc json arrays open drain"));
    System.exit(new EndToEndReport().run(cases) ? 0 : 1);
  }

  private boolean run(List<Case> cases) throws IOException, InterruptedException {
    int open = cases.indexOf(Case.OPEN);
    if (open >= 0 && openRate == 0 && !cases.subList(0, open).contains(Case.OTLP)) {
      throw new IOException("the case open requires an earlier case otlp, or OPEN_RATE");
    }
    var folder = WorkDir.create();
    System.out.println(WorkDir.describeMachine(folder));
    for (var each : cases) {
      var caseResult = run(each, Files.createDirectories(folder.resolve(each.name())));
      System.out.println(ReportWriter.summaryLine(caseResult, baseline));
      outcomes.add(caseResult);
      outcomesByCase.put(each, caseResult);
      if (each == Case.OTLP) {
        otlpRate = Math.min(caseResult.acceptedPerSecond(), caseResult.storedPerSecond());
      }
      if (caseResult.complete()) { // otherwise the logs in it show the reason
        WorkDir.delete(folder.resolve(each.name()));
      }
    }
    var reportWriter =
        new ReportWriter(
            setup(folder), baseline, outcomes, new Targets(outcomesByCase, baseline).evaluate());
    System.out.println("\n" + reportWriter.targetTable() + "\n\n" + reportWriter.tables());
    var out = Environment.text("OUT", "");
    if (!out.isEmpty()) {
      reportWriter.write(Path.of(out));
      reportWriter.writeTargets(Path.of(out));
    }
    boolean complete = outcomes.stream().allMatch(CaseResult::complete);
    if (complete) {
      WorkDir.delete(folder);
    }
    return complete;
  }

  private CaseResult run(Case each, Path folder) throws IOException, InterruptedException {
    long full = each == Case.DRAIN ? (long) drainLogs * STREAM_BYTES : 0;
    try (var engines = new BenchEngines(folder, Math.max(full >> 20, 1024) + "mb")) {
      versions = engines.versions();
      var caseResult = each == Case.DRAIN ? drain(engines, folder) : measure(each, engines, folder);
      if (baseline == null) { // the rows of all cases are similar
        baseline =
            ClickHouseBaseline.measure(
                engines.database(), engines.clickHouseStats(), folder, Measurement.TABLE);
      }
      return caseResult;
    }
  }

  private CaseResult measure(Case each, BenchEngines engines, Path folder)
      throws IOException, InterruptedException {
    try (var gateway = new Gateway(folder.resolve("gateway"), engines.settings())) {
      var warming = generator(each == Case.OPEN ? Case.OTLP : each, gateway, folder);
      warmUp(warming, engines, gateway, logs(each));
      var generator = each == Case.OPEN ? generator(each, gateway, folder) : warming;
      var measurement = new Measurement(engines, gateway);
      return measurement.await(generator.send(seconds), each.title, logs(each));
    }
  }

  private void warmUp(LoadGenerator generator, BenchEngines engines, Gateway gateway, int logs)
      throws IOException, InterruptedException {
    var measurement = new Measurement(engines, gateway);
    var caseResult = measurement.await(generator.send(warmUp), "warming up", logs);
    if (!caseResult.complete()) {
      throw new IOException("a log is lost or extra after the warm-up: " + caseResult);
    }
  }

  private static int logs(Case each) {
    return switch (each) {
      case OTLP, GZIP, GRPC, OPEN, DRAIN -> LOGS;
      case ARRAYS -> ARRAY_LOGS;
      case JSON -> 1;
    };
  }

  private LoadGenerator generator(Case each, Gateway gateway, Path folder) throws IOException {
    var http = "http://127.0.0.1:" + gateway.port();
    return switch (each) {
      case OTLP, DRAIN ->
          Wrk.of(http + "/v1/logs", folder, BodyFormat.OTLP, bodies, LOGS, 0, FEW_CONNECTIONS);
      case GZIP ->
          Wrk.of(http + "/v1/logs", folder, BodyFormat.OTLP_GZIP, bodies, LOGS, 0, FEW_CONNECTIONS);
      case JSON -> json(http, folder, OBJECT_BODIES, 1);
      case ARRAYS -> json(http, folder, bodies * LOGS / ARRAY_LOGS, ARRAY_LOGS);
      case GRPC ->
          new Ghz(
              gateway.grpcPort(),
              RequestBodies.writeBodies(folder, BodyFormat.OTLP, bodies, LOGS, 0),
              FEW_CONNECTIONS);
      case OPEN ->
          new Vegeta(
              RequestBodies.writeVegetaTargets(
                  folder, http + "/v1/logs", BodyFormat.OTLP, bodies, LOGS),
              openLogsPerSecond() / LOGS);
    };
  }

  private static LoadGenerator json(String http, Path folder, int bodies, int logs)
      throws IOException {
    return Wrk.of(
        http + "/api/v1/logs", folder, BodyFormat.JSON, bodies, logs, 0, MANY_CONNECTIONS);
  }

  private double openLogsPerSecond() {
    return openRate > 0 ? openRate : OPEN_SHARE * otlpRate;
  }

  /**
   * Measures the drain of a full stream. One gateway fills the stream, another one drains it. The
   * second gateway is warm and suspended during the fill: a gateway started after the fill would be
   * measured while the JIT compiles it.
   */
  private CaseResult drain(BenchEngines engines, Path folder)
      throws IOException, InterruptedException {
    try (var filling =
            new Gateway(folder.resolve("filling"), settingsWith(engines, "--sluice.roles=ingest"));
        var draining =
            new Gateway(
                folder.resolve("draining"), settingsWith(engines, "--sluice.roles=deliver"))) {
      var generator = generator(Case.DRAIN, filling, folder);
      warmUp(generator, engines, draining, LOGS);
      double allocated = draining.allocatedBytes();
      draining.suspend();
      var load = generator.send(FILL_SECONDS);
      while (load.succeeded() * LOGS < drainLogs) {
        var more = generator.send(FILL_SECONDS);
        if (more.succeeded() == 0) {
          throw new IOException("the stream is full before it contains DRAIN_LOGS logs: " + load);
        }
        load = load.plus(more);
      }
      var measurement = new Measurement(engines, draining, allocated);
      draining.resume();
      return measurement.await(load, Case.DRAIN.title, LOGS);
    }
  }

  private static String[] settingsWith(BenchEngines engines, String setting) {
    var settings = new ArrayList<>(List.of(engines.settings()));
    settings.add(setting);
    return settings.toArray(String[]::new);
  }

  private Map<String, String> setup(Path folder) throws IOException {
    var setup = ReportWriter.setup(folder, versions);
    setup.put("seconds", "%d per case, after a warm-up of %d".formatted(seconds, warmUp));
    setup.put("distinct logs", "%,d; JSON objects %,d".formatted(bodies * LOGS, OBJECT_BODIES));
    return setup;
  }
}
