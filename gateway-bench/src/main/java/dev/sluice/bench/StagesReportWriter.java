package dev.sluice.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import tools.jackson.databind.json.JsonMapper;

/**
 * The results of one run of {@link StagesReport}, as a page with charts and as JSON.
 *
 * @param setup the conditions of the run, such as machine and versions, by name
 */
record StagesReportWriter(Map<String, String> setup, List<Group> groups) {
  private static final String NAME = "stages";
  private static final String NOTES =
      """
      ## Definitions

      - *gateway* is the process of the stage, whichever server that is; it has the same JVM and options in every stage. Stages
        without a ledger have no *imbalance*.
      - *relative* is the stored rate divided by that of the first stage in the table. The stored rate counts until the last row,
        the accepted rate while the load is on: logs that are accepted faster than they are stored wait in a queue.
      - *logs per insert* is the average number of logs in one part that ClickHouse creates. The embedded ClickHouse has no queue
        for asynchronous inserts: it accepts `async_insert` and makes each insert immediately. So stage 2 inserts into a `Buffer`
        table, which also collects rows in memory.
      - CPU is in microseconds per stored log. The first columns count until the last log is in the table, the *merged* columns
        until all merges have ended. The CPU of the load generator is per accepted log and includes reading its request bodies.
        The summary adds up gateway, Redis and ClickHouse, merged. Memory is the peak of resident memory; the summary has the sum
        of the three.
      - Each connection waits for its response before it sends again, so the latencies are those of this load.
      - *Lost* logs are accepted and not in the table. *Extra* logs are in the table, and were neither accepted nor in flight when
        the load ended. *Not accepted* are requests without a success response.
      - *Killed* means a `kill -9` of the stage's process under load, and a restart on the same engines, which keep running.
        *Duplicates* are additional rows of stored logs. A request in flight can be stored without a response, so a loss
        smaller than the number of logs in flight would not be detected.
      - All stages store the same columns of the same logs in the same table. Template mining and the encoding of resources are
        disabled in the gateway here.""";

  /** The results of all stages with one number of logs per request. */
  record Group(int logsPerRequest, List<Result> results) {

    ReportWriter reportWriter() {
      return new ReportWriter(results.stream().map(Result::caseResult).toList());
    }

    String name() {
      return "%s-%d".formatted(NAME, logsPerRequest);
    }

    String heading() {
      return logsPerRequest == 1
          ? "## One log per request"
          : "## %,d logs per request".formatted(logsPerRequest);
    }
  }

  /**
   * The result of one stage.
   *
   * @param inserts the number of inserts that ClickHouse made for the stored logs
   */
  record Result(Stage stage, CaseResult caseResult, long inserts, CrashResult crashResult) {

    boolean keepsGuarantee() {
      return stage.keepsGuarantee(caseResult, crashResult);
    }

    /** Returns one line with the main figures of a finished stage. */
    String summaryLine() {
      return "%s; killed: %,d accepted, %,d lost, %,d duplicates%s"
          .formatted(
              ReportWriter.summaryLine(caseResult, null),
              crashResult.accepted(),
              crashResult.lost(),
              crashResult.doubled(),
              keepsGuarantee() ? "" : ": GUARANTEE VIOLATED");
    }

    private double micros() {
      return caseResult.costs().values().stream().mapToDouble(CaseResult.Cost::merged).sum();
    }

    private long mebibytes() {
      return caseResult.costs().values().stream().mapToLong(CaseResult.Cost::peakMebibytes).sum();
    }
  }

  /** Returns the tables of each group as Markdown. */
  String tables() {
    var text = new ArrayList<String>();
    for (var group : groups) {
      text.add(group.heading() + "\n\n" + tables(group));
    }
    return String.join("\n\n", text);
  }

  private static String tables(Group group) {
    return "%s\n\n%s\n\n%s"
        .formatted(summaryTable(group), group.reportWriter().tables(), crashTable(group));
  }

  private static String summaryTable(Group group) {
    var text = new ArrayList<String>();
    text.add(
        ReportWriter.row(
            "stage",
            "stored/s",
            "relative",
            "logs per insert",
            "p50 ms",
            "p99 ms",
            "p99.9 ms",
            "CPU µs/log",
            "memory MiB",
            "lost",
            "lost when killed",
            "duplicates when killed"));
    text.add(ReportWriter.separatorRow(12));
    double first = group.results.getFirst().caseResult.storedPerSecond();
    for (var each : group.results) {
      var caseResult = each.caseResult;
      text.add(
          ReportWriter.row(
              caseResult.name(),
              "%,.0f".formatted(caseResult.storedPerSecond()),
              "%.1f".formatted(caseResult.storedPerSecond() / first),
              "%,.0f".formatted((double) caseResult.stored() / each.inserts),
              "%.1f".formatted(caseResult.latency().p50()),
              "%.1f".formatted(caseResult.latency().p99()),
              "%.1f".formatted(caseResult.latency().p999()),
              "%.1f".formatted(each.micros()),
              "%,d".formatted(each.mebibytes()),
              "%,d".formatted(caseResult.lost()),
              "%,d".formatted(each.crashResult.lost()),
              "%,d".formatted(each.crashResult.doubled())));
    }
    return String.join("\n", text);
  }

  private static String crashTable(Group group) {
    var text = new ArrayList<String>();
    text.add(
        ReportWriter.row(
            "killed under load", "accepted", "stored", "lost", "duplicates", "imbalance"));
    text.add(ReportWriter.separatorRow(6));
    for (var each : group.results) {
      var crashResult = each.crashResult;
      text.add(
          ReportWriter.row(
              crashResult.name(),
              "%,d".formatted(crashResult.accepted()),
              "%,d".formatted(crashResult.stored()),
              "%,d".formatted(crashResult.lost()),
              "%,d".formatted(crashResult.doubled()),
              ReportWriter.number(crashResult.imbalance())));
    }
    return String.join("\n", text);
  }

  private String stageTable() {
    var stages = new LinkedHashSet<Stage>();
    groups.forEach(group -> group.results.forEach(each -> stages.add(each.stage)));
    var text = new ArrayList<String>();
    text.add(ReportWriter.row("stage", "design", "a success response means"));
    text.add(ReportWriter.separatorRow(3));
    for (var each : stages) {
      text.add(ReportWriter.row(each.title(), each.description, each.successMeaning));
    }
    return String.join("\n", text);
  }

  /**
   * Writes the page with its charts, and all figures as JSON, into a directory.
   *
   * @param folder the directory, created when it does not exist
   */
  void write(Path folder) throws IOException {
    Files.createDirectories(folder);
    for (var group : groups) {
      var reportWriter = group.reportWriter();
      chart(folder, group, "rates", reportWriter.rateChart());
      chart(folder, group, "latencies", reportWriter.latencyChart());
      chart(folder, group, "cpu", reportWriter.costChart());
    }
    Files.writeString(
        folder.resolve(NAME + ".json"),
        JsonMapper.shared().writerWithDefaultPrettyPrinter().writeValueAsString(this) + "\n");
    Files.writeString(folder.resolve(NAME + ".md"), page());
  }

  private static void chart(Path folder, Group group, String name, BarChart chart)
      throws IOException {
    Files.writeString(folder.resolve("%s-%s.svg".formatted(group.name(), name)), chart.svg());
  }

  String page() {
    return """
    # Stages: the effect of each design step

    Written by `make bench-stages`.

    %s

    %s

    %s

    %s
    """
        .formatted(
            ReportWriter.bulletList(setup),
            stageTable(),
            groups.stream().map(StagesReportWriter::section).collect(Collectors.joining("\n\n")),
            NOTES);
  }

  private static String section(Group group) {
    return """
    %s

    ![logs per second](%s-rates.svg)

    ![response latency in milliseconds](%s-latencies.svg)

    ![CPU per log](%s-cpu.svg)

    %s"""
        .formatted(group.heading(), group.name(), group.name(), group.name(), tables(group));
  }
}
