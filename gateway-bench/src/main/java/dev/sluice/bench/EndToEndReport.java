package dev.sluice.bench;

import dev.sluice.bench.Bodies.Form;
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
 * and then it is measured. Where one would not know what is much, there is the {@link Floor},
 * measured in the same run: rates differ from machine to machine and from hour to hour, CPU for a
 * log and its ratio to the floor hardly do.
 *
 * <p>Run by {@code make bench}; in the environment {@code SECONDS_EACH}, 60 by default, {@code
 * WARM_UP}, 30, {@code CASES}, names of {@link Case}, {@code BODIES} of 500 logs, 2048, {@code
 * DRAIN_LOGS}, five million, {@code OPEN_RATE} in logs a second when the open loop is not to have
 * its share of what OTLP/HTTP reached, {@code OUT}, a folder for the report, and {@code JAVA_OPTS}.
 * Ends with status 1 when a log is lost or extra.
 */
public final class EndToEndReport {
  private static final int LOGS = 500;
  private static final int FEW = 8;
  private static final int MANY = 64;

  /** Of what can be taken in; above it a queue grows whatever is done. */
  private static final double OPEN_SHARE = 0.7;

  /** Single objects: as many strings more would be a load on wrk, and on the machine. */
  private static final int OBJECTS = 250_000;

  private static final int ARRAY = 100;

  /** A log in a stream; about a third of it is used. */
  private static final int STREAM_BYTES = 256;

  private static final int FILL_SECONDS = 2;

  private final int seconds = Environment.number("SECONDS_EACH", 60);
  private final int warmUp = Environment.number("WARM_UP", 30);
  private final int bodies = Environment.number("BODIES", 2048);
  private final int drainLogs = Environment.number("DRAIN_LOGS", 5_000_000);
  private final double openRate = Environment.number("OPEN_RATE", 0);
  private final List<Outcome> outcomes = new ArrayList<>();
  private final Map<Case, Outcome> ofCases = new EnumMap<>(Case.class);
  private @Nullable Floor floor;
  private String versions = "";

  /**
   * By OTLP/HTTP. What is stored counts, not what is taken in: the rest of that waits and waits.
   */
  private double reached;

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

    static List<Case> named(String names) {
      return Arrays.stream(names.strip().split("[\\s,]+"))
          .map(name -> valueOf(name.toUpperCase(Locale.ROOT)))
          .toList();
    }
  }

  public static void main(String[] arguments) throws Exception {
    Locale.setDefault(Locale.ROOT); // what is written is read by programs too
    var cases = Case.named(Environment.text("CASES", "otlp gzip grpc json arrays open drain"));
    System.exit(new EndToEndReport().run(cases) ? 0 : 1);
  }

  private boolean run(List<Case> cases) throws IOException, InterruptedException {
    int open = cases.indexOf(Case.OPEN);
    if (open >= 0 && openRate == 0 && !cases.subList(0, open).contains(Case.OTLP)) {
      throw new IOException("open needs the case otlp before it, or OPEN_RATE");
    }
    var folder = Workplace.make();
    System.out.println(Workplace.machine(folder));
    for (var each : cases) {
      var outcome = run(each, Files.createDirectories(folder.resolve(each.name())));
      System.out.println(Findings.line(outcome, floor));
      outcomes.add(outcome);
      ofCases.put(each, outcome);
      if (each == Case.OTLP) {
        reached = Math.min(outcome.acceptedPerSecond(), outcome.storedPerSecond());
      }
      if (outcome.complete()) { // else what is there says why
        Workplace.delete(folder.resolve(each.name()));
      }
    }
    var findings = new Findings(setup(folder), floor, outcomes, new Goals(ofCases, floor).all());
    System.out.println("\n" + findings.tables());
    var out = Environment.text("OUT", "");
    if (!out.isEmpty()) {
      findings.write(Path.of(out));
    }
    boolean complete = outcomes.stream().allMatch(Outcome::complete);
    if (complete) {
      Workplace.delete(folder);
    }
    return complete;
  }

  private Outcome run(Case each, Path folder) throws IOException, InterruptedException {
    long full = each == Case.DRAIN ? (long) drainLogs * STREAM_BYTES : 0;
    try (var engines = new Engines(folder, Math.max(full >> 20, 1024) + "mb")) {
      versions = engines.versions();
      var outcome = each == Case.DRAIN ? drain(engines, folder) : load(each, engines, folder);
      if (floor == null) { // the rows of all cases are alike
        floor = Floor.measure(engines.database(), engines.clickHouse(), folder, Measurement.TABLE);
      }
      return outcome;
    }
  }

  private Outcome load(Case each, Engines engines, Path folder)
      throws IOException, InterruptedException {
    try (var gateway = new Gateway(folder.resolve("gateway"), engines.settings())) {
      var warming = generator(each == Case.OPEN ? Case.OTLP : each, gateway, folder);
      warm(warming, engines, gateway, logs(each));
      var generator = each == Case.OPEN ? generator(each, gateway, folder) : warming;
      var measurement = new Measurement(engines, gateway);
      return measurement.of(generator.send(seconds), each.title, logs(each));
    }
  }

  private void warm(Generator generator, Engines engines, Gateway gateway, int logs)
      throws IOException, InterruptedException {
    var measurement = new Measurement(engines, gateway);
    var outcome = measurement.of(generator.send(warmUp), "warming up", logs);
    if (!outcome.complete()) {
      throw new IOException("a log is lost or extra already: " + outcome);
    }
  }

  private static int logs(Case each) {
    return switch (each) {
      case OTLP, GZIP, GRPC, OPEN, DRAIN -> LOGS;
      case ARRAYS -> ARRAY;
      case JSON -> 1;
    };
  }

  private Generator generator(Case each, Gateway gateway, Path folder) throws IOException {
    var http = "http://127.0.0.1:" + gateway.port();
    return switch (each) {
      case OTLP, DRAIN -> wrk(http + "/v1/logs", folder, Form.OTLP, bodies, LOGS, FEW);
      case GZIP -> wrk(http + "/v1/logs", folder, Form.OTLP_GZIP, bodies, LOGS, FEW);
      case JSON -> wrk(http + "/api/v1/logs", folder, Form.JSON, OBJECTS, 1, MANY);
      case ARRAYS ->
          wrk(http + "/api/v1/logs", folder, Form.JSON, bodies * LOGS / ARRAY, ARRAY, MANY);
      case GRPC -> new Ghz(gateway.grpcPort(), Bodies.file(folder, Form.OTLP, bodies, LOGS), FEW);
      case OPEN ->
          new Vegeta(
              Bodies.targets(folder, http + "/v1/logs", Form.OTLP, bodies, LOGS),
              openLogsPerSecond() / LOGS);
    };
  }

  private static Generator wrk(
      String url, Path folder, Form form, int bodies, int logs, int connections)
      throws IOException {
    var file = Bodies.file(folder, form, bodies, logs);
    return new Wrk(url, file, form.type, form.encoding, connections);
  }

  private double openLogsPerSecond() {
    return openRate > 0 ? openRate : OPEN_SHARE * reached;
  }

  /**
   * One gateway fills the stream, another one empties it, which is halted meanwhile: begun only
   * then, it would be measured while it compiles itself.
   */
  private Outcome drain(Engines engines, Path folder) throws IOException, InterruptedException {
    try (var filling =
            new Gateway(folder.resolve("filling"), with(engines, "--sluice.roles=ingest"));
        var draining =
            new Gateway(folder.resolve("draining"), with(engines, "--sluice.roles=deliver"))) {
      var generator = generator(Case.DRAIN, filling, folder);
      warm(generator, engines, draining, LOGS);
      double allocated = draining.allocatedBytes();
      draining.halt();
      var load = generator.send(FILL_SECONDS);
      while (load.taken() * LOGS < drainLogs) {
        var more = generator.send(FILL_SECONDS);
        if (more.taken() == 0) {
          throw new IOException("the stream is full before it has DRAIN_LOGS: " + load);
        }
        load = load.and(more);
      }
      var measurement = new Measurement(engines, draining, allocated);
      draining.resume();
      return measurement.of(load, Case.DRAIN.title, LOGS);
    }
  }

  private static String[] with(Engines engines, String setting) {
    var settings = new ArrayList<>(List.of(engines.settings()));
    settings.add(setting);
    return settings.toArray(String[]::new);
  }

  private Map<String, String> setup(Path folder) throws IOException, InterruptedException {
    var setup = new LinkedHashMap<String, String>();
    setup.put("machine", Workplace.machine(folder));
    setup.put(
        "gateway",
        Environment.text("COMMIT", "not known") + ", " + String.join(" ", JavaProcess.options()));
    setup.put("engines", versions);
    setup.put("load generators", Environment.text("GENERATORS", "not known"));
    setup.put("seconds", "%d after %d of warming up".formatted(seconds, warmUp));
    setup.put("distinct logs", "%,d; JSON objects %,d".formatted(bodies * LOGS, OBJECTS));
    return setup;
  }
}
