package dev.sluice.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * What has each idea of the gateway brought? Every {@link Stage} is sent the same logs over as many
 * connections, each on engines of its own that are empty at first: it is warmed up, measured until
 * its last row is stored and merged, and then killed under load.
 *
 * <p>Run by {@code make bench-stages}; in the environment {@code SECONDS_EACH}, 30 by default,
 * {@code WARM_UP}, 20, {@code STAGES}, by their numbers, {@code PER_REQUEST}, how many logs a
 * request has, by default first 1, then 100, {@code OUT}, a folder for the report, and {@code
 * JAVA_OPTS}. Ends with status 1 when a log is lost or doubled that should not be by what the
 * stage's answers promise.
 */
public final class StagesReport {
  private static final int CONNECTIONS = 64;

  /** Logs that differ; as many strings more would be a load on wrk, and on the machine. */
  private static final int DIFFERENT = 250_000;

  /** What a stage takes in faster than it stores waits there. */
  private static final String REDIS_MEMORY = "4gb";

  private final int seconds = Environment.number("SECONDS_EACH", 30);
  private final int warmUp = Environment.number("WARM_UP", 20);
  private String versions = "";

  private StagesReport() {}

  public static void main(String[] arguments) throws Exception {
    Locale.setDefault(Locale.ROOT); // what is written is read by programs too
    var stages = Stage.numbered(Environment.text("STAGES", "1 2 3 4 5 6 7"));
    var perRequest =
        Arrays.stream(Environment.text("PER_REQUEST", "1 100").split("[\\s,]+"))
            .map(Integer::valueOf)
            .toList();
    System.exit(new StagesReport().run(stages, perRequest) ? 0 : 1);
  }

  private boolean run(List<Stage> stages, List<Integer> perRequest)
      throws IOException, InterruptedException {
    var folder = Workplace.make();
    System.out.println(Workplace.machine(folder));
    var groups = new ArrayList<StagesFindings.Group>();
    boolean kept = true;
    for (int logs : perRequest) {
      var results = new ArrayList<StagesFindings.Result>();
      for (var stage : stages) {
        var workplace = Files.createDirectories(folder.resolve(stage + "-" + logs));
        var result = run(stage, logs, workplace);
        System.out.println(result.line());
        results.add(result);
        if (result.kept()) { // else what is there says why
          Workplace.delete(workplace);
        }
        kept &= result.kept();
      }
      groups.add(new StagesFindings.Group(logs, results));
      var findings = new StagesFindings(setup(folder), groups);
      findings.write(Path.of(Environment.text("OUT", "docs/benchmarks")));
      System.out.println("\n" + findings.tables() + "\n");
    }
    if (kept) {
      Workplace.delete(folder);
    }
    return kept;
  }

  private StagesFindings.Result run(Stage stage, int logs, Path folder)
      throws IOException, InterruptedException {
    try (var engines = new Engines(folder, REDIS_MEMORY);
        var server = stage.start(engines, folder)) {
      versions = engines.versions();
      var generator =
          new Wrk(
              "http://127.0.0.1:" + server.port() + stage.path(),
              Bodies.file(folder, stage.form(), DIFFERENT / logs, logs),
              stage.form().type,
              stage.form().encoding,
              CONNECTIONS);
      var patience = stage.patience();
      var warming = new Measurement(engines, server, patience);
      var _ = warming.of(generator.send(warmUp), "warming up", logs);
      long inserts = inserts(engines.database());
      var measurement = new Measurement(engines, server, patience);
      var outcome = measurement.of(generator.send(seconds), stage.title(), logs);
      inserts = inserts(engines.database()) - inserts;
      var killed = Killed.underLoad(engines, server, generator, stage.title(), logs, patience);
      return new StagesFindings.Result(stage, outcome, inserts, killed);
    }
  }

  /**
   * As ClickHouse counts them: each makes a part, of one day here, and parts are numbered. What it
   * was asked for says less, since it may gather inserts, or not be able to.
   */
  private static long inserts(Database database) throws IOException, InterruptedException {
    return database.number(
        """
        SELECT max(max_block_number) FROM system.parts
        WHERE database = currentDatabase() AND table = '%s'"""
            .formatted(Measurement.TABLE));
  }

  private Map<String, String> setup(Path folder) throws IOException {
    var setup = new LinkedHashMap<String, String>();
    setup.put("machine", Workplace.machine(folder));
    setup.put(
        "gateway",
        "%s, %s"
            .formatted(
                Environment.text("COMMIT", "not known"), String.join(" ", JavaProcess.options())));
    setup.put("engines", versions);
    setup.put(
        "load generator",
        "%s, %d connections".formatted(Environment.text("GENERATORS", "not known"), CONNECTIONS));
    setup.put("seconds", "%d after %d of warming up".formatted(seconds, warmUp));
    setup.put("distinct logs", "%,d".formatted(DIFFERENT));
    return setup;
  }
}
