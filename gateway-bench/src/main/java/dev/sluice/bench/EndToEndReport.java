package dev.sluice.bench;

import dev.sluice.bench.RequestBodies.BodyFormat;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What does a log cost from its request to its row, and how many can one machine take in, by each
 * way in? Gateway, Redis, ClickHouse and the load generator share the machine. Each case has a
 * gateway and engines of its own, empty at first; it is warmed up, everything is stored and merged,
 * and then it is measured. Where one would not know what is much, there is the {@link
 * ClickHouseBaseline}, measured in the same run: rates differ from machine to machine and from hour
 * to hour, CPU for a log and its ratio to the floor hardly do.
 *
 * <p>Run by {@code make bench}; in the environment {@code SECONDS_EACH}, 60 by default, {@code
 * WARM_UP}, 30, {@code CASES}, names of {@link Case}, {@code BODIES} of 500 logs, 2048, {@code
 * DRAIN_LOGS}, five million, {@code OPEN_RATE} in logs a second when the open loop is not to have
 * its share of what OTLP/HTTP reached, {@code OUT}, a folder for the report, and {@code JAVA_OPTS}.
 * Ends with status 1 when a log is lost or extra.
 */
public final class EndToEndReport {
  private static final int LOGS = 500;
  private static final int FEW_CONNECTIONS = 8;
  private static final int MANY_CONNECTIONS = 64;

  /** Of what can be taken in; above it a queue grows whatever is done. */
  private static final double OPEN_SHARE = 0.7;

  /** Single objects: as many strings more would be a load on wrk, and on the machine. */
  private static final int OBJECT_BODIES = 250_000;

  private static final int ARRAY_LOGS = 100;

  /** A log in a stream; about a third of it is used. */
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
   * By OTLP/HTTP. What is stored counts, not what is taken in: the rest of that waits and waits.
   */
  private double otlpRate;

  private EndToEndReport() {}

  /** Each is named by its name in lower case. */
  enum Case {
    OTLP("OTLP/HTTP, 500 a request"),
    GZIP("OTLP/HTTP, gzip"),
    GRPC("OTLP/gRPC, 500 a request"),
    JSON("JSON, an object a request"),
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
    Locale.setDefault(Locale.ROOT); // what is written is read by programs too
    var cases = Case.parse(Environment.text("CASES", "otlp gzip grpc json arrays open drain"));
    System.exit(new EndToEndReport().run(cases) ? 0 : 1);
  }

  private boolean run(List<Case> cases) throws IOException, InterruptedException {
    int open = cases.indexOf(Case.OPEN);
    if (open >= 0 && openRate == 0 && !cases.subList(0, open).contains(Case.OTLP)) {
      throw new IOException("open needs the case otlp before it, or OPEN_RATE");
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
      if (caseResult.complete()) { // else what is there says why
        WorkDir.delete(folder.resolve(each.name()));
      }
    }
    var reportWriter =
        new ReportWriter(
            setup(folder), baseline, outcomes, new Targets(outcomesByCase, baseline).evaluate());
    System.out.println("\n" + reportWriter.tables());
    var out = Environment.text("OUT", "");
    if (!out.isEmpty()) {
      reportWriter.write(Path.of(out));
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
      if (baseline == null) { // the rows of all cases are alike
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
      throw new IOException("a log is lost or extra already: " + caseResult);
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
          wrk(http + "/v1/logs", folder, BodyFormat.OTLP, bodies, LOGS, FEW_CONNECTIONS);
      case GZIP ->
          wrk(http + "/v1/logs", folder, BodyFormat.OTLP_GZIP, bodies, LOGS, FEW_CONNECTIONS);
      case JSON ->
          wrk(http + "/api/v1/logs", folder, BodyFormat.JSON, OBJECT_BODIES, 1, MANY_CONNECTIONS);
      case ARRAYS ->
          wrk(
              http + "/api/v1/logs",
              folder,
              BodyFormat.JSON,
              bodies * LOGS / ARRAY_LOGS,
              ARRAY_LOGS,
              MANY_CONNECTIONS);
      case GRPC ->
          new Ghz(
              gateway.grpcPort(),
              RequestBodies.writeBodies(folder, BodyFormat.OTLP, bodies, LOGS),
              FEW_CONNECTIONS);
      case OPEN ->
          new Vegeta(
              RequestBodies.writeVegetaTargets(
                  folder, http + "/v1/logs", BodyFormat.OTLP, bodies, LOGS),
              openLogsPerSecond() / LOGS);
    };
  }

  private static LoadGenerator wrk(
      String url, Path folder, BodyFormat form, int bodies, int logs, int connections)
      throws IOException {
    var file = RequestBodies.writeBodies(folder, form, bodies, logs);
    return new Wrk(url, file, form.contentType, form.contentEncoding, connections);
  }

  private double openLogsPerSecond() {
    return openRate > 0 ? openRate : OPEN_SHARE * otlpRate;
  }

  /**
   * One gateway fills the stream, another one empties it, which is halted meanwhile: begun only
   * then, it would be measured while it compiles itself.
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
          throw new IOException("the stream is full before it has DRAIN_LOGS: " + load);
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

  private Map<String, String> setup(Path folder) throws IOException, InterruptedException {
    var setup = new LinkedHashMap<String, String>();
    setup.put("machine", WorkDir.describeMachine(folder));
    setup.put(
        "gateway",
        Environment.text("COMMIT", "not known") + ", " + String.join(" ", JavaProcess.options()));
    setup.put("engines", versions);
    setup.put("load generators", Environment.text("GENERATORS", "not known"));
    setup.put("seconds", "%d after %d of warming up".formatted(seconds, warmUp));
    setup.put("distinct logs", "%,d; JSON objects %,d".formatted(bodies * LOGS, OBJECT_BODIES));
    return setup;
  }
}
