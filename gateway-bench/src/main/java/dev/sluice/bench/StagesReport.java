package dev.sluice.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The stages report: the effect of each design step of the gateway. Every {@link Stage} receives
 * the same logs over the same number of connections, each on its own engines, which are empty at
 * first. A stage warms up, is measured until its last row is stored and merged, and is then killed
 * under load.
 *
 * <p>Run by {@code make bench-stages}. Environment variables: {@code SECONDS_EACH}, 30 by default;
 * {@code WARM_UP}, 20; {@code STAGES}, the numbers of the stages; {@code PER_REQUEST}, the number
 * of logs per request, by default first 1, then 100; {@code OUT}, the directory of the report; and
 * {@code JAVA_OPTS}. The exit status is 1 when a log is lost or duplicated that the guarantee of
 * the stage's success response excludes.
 */
public final class StagesReport {
  private static final int CONNECTIONS = 64;

  /** The number of distinct logs; more strings would load wrk and the machine. */
  private static final int DISTINCT_LOGS = 250_000;

  /** The memory limit of Redis, which holds the logs that a stage accepts faster than it stores. */
  private static final String REDIS_MEMORY = "4gb";

  private final int seconds = Environment.number("SECONDS_EACH", 30);
  private final int warmUp = Environment.number("WARM_UP", 20);
  private String versions = "";

  private StagesReport() {}

  public static void main(String[] arguments) throws Exception {
    Locale.setDefault(Locale.ROOT); // programs parse the report too
    var stages = Stage.parse(Environment.text("STAGES", "1 2 3 4 5 6 7"));
    var perRequest =
        Arrays.stream(Environment.text("PER_REQUEST", "1 100").split("[\\s,]+"))
            .map(Integer::valueOf)
            .toList();
    System.exit(new StagesReport().run(stages, perRequest) ? 0 : 1);
  }

  private boolean run(List<Stage> stages, List<Integer> perRequest)
      throws IOException, InterruptedException {
    var folder = WorkDir.create();
    System.out.println(WorkDir.describeMachine(folder));
    var groups = new ArrayList<StagesReportWriter.Group>();
    boolean guaranteesKept = true;
    for (int logs : perRequest) {
      var results = new ArrayList<StagesReportWriter.Result>();
      for (var stage : stages) {
        var directory = Files.createDirectories(folder.resolve(stage + "-" + logs));
        var result = run(stage, logs, directory);
        System.out.println(result.summaryLine());
        results.add(result);
        if (result.keepsGuarantee()) { // otherwise the logs in it show the reason
          WorkDir.delete(directory);
        }
        guaranteesKept &= result.keepsGuarantee();
      }
      groups.add(new StagesReportWriter.Group(logs, results));
      var report = new StagesReportWriter(setup(folder), groups);
      report.write(Path.of(Environment.text("OUT", "docs/benchmarks")));
      System.out.println("\n" + report.tables() + "\n");
    }
    if (guaranteesKept) {
      WorkDir.delete(folder);
    }
    return guaranteesKept;
  }

  private StagesReportWriter.Result run(Stage stage, int logs, Path folder)
      throws IOException, InterruptedException {
    try (var engines = new BenchEngines(folder, REDIS_MEMORY);
        var server = stage.start(engines, folder)) {
      versions = engines.versions();
      var generator =
          Wrk.of(
              "http://127.0.0.1:" + server.port() + stage.path(),
              folder,
              stage.bodyFormat(),
              DISTINCT_LOGS / logs,
              logs,
              0,
              CONNECTIONS);
      var stallTimeout = stage.stallTimeout();
      var warming = new Measurement(engines, server, stallTimeout);
      var _ = warming.await(generator.send(warmUp), "warming up", logs);
      long inserts = inserts(engines.database());
      var measurement = new Measurement(engines, server, stallTimeout);
      var caseResult = measurement.await(generator.send(seconds), stage.title(), logs);
      inserts = inserts(engines.database()) - inserts;
      var crash =
          CrashResult.killUnderLoad(engines, server, generator, stage.title(), logs, stallTimeout);
      return new StagesReportWriter.Result(stage, caseResult, inserts, crash);
    }
  }

  /**
   * Returns the number of inserts that ClickHouse has made. Each insert creates a part of one day
   * here, and parts are numbered. The number of insert requests means less, because ClickHouse can
   * merge asynchronous inserts, or be unable to.
   */
  private static long inserts(ClickHouseAdmin clickHouseAdmin)
      throws IOException, InterruptedException {
    return clickHouseAdmin.queryLong(
        """
        SELECT max(max_block_number) FROM system.parts
        WHERE database = currentDatabase() AND table = '%s'"""
            .formatted(Measurement.TABLE));
  }

  private Map<String, String> setup(Path folder) throws IOException {
    var setup = ReportWriter.setup(folder, versions);
    setup.put("connections", String.valueOf(CONNECTIONS));
    setup.put("seconds", "%d per stage, after a warm-up of %d".formatted(seconds, warmUp));
    setup.put("distinct logs", "%,d".formatted(DISTINCT_LOGS));
    return setup;
  }
}
