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
 * All that a run of {@link StagesReport} has found.
 *
 * @param setup on what the figures depend
 */
record StagesReportWriter(Map<String, String> setup, List<Group> groups) {
  private static final String NAME = "stages";
  private static final String NOTES =
      """
      ## How to read it

      - *gateway* is the process of the stage, whichever server that is; it has the same JVM and options in every stage. Stages
        that have no ledger of their own have no *imbalance*.
      - *of the first* is how many times as many logs a second were stored. Stored a second counts until the last row, accepted a
        second while the load was on: what is accepted faster than it is stored waits in between.
      - *logs an insert* are those of one part that ClickHouse has made. The embedded ClickHouse has no queue for asynchronous
        inserts: it takes `async_insert` and makes each insert at once. So in stage 2 a `Buffer` table, which gathers in its memory
        too, stands before the table.
      - CPU is in microseconds for a stored log, until the last one was in the table, and *merged* once all merges had ended; the
        load generator's is for an accepted one, what it takes to read its bodies included. The summary adds up gateway, Redis and
        ClickHouse, merged. Memory is the most that was resident, and in the summary that of the three.
      - Each of the connections waits for its answer before it sends again, so the time of an answer is told of that load.
      - *Lost* is what was accepted and is not in the table, *extra* what is there and was neither accepted nor under way when the
        load ended, *not taken* are requests answered by other than success.
      - *Killed* is `kill -9` of the stage's process under load, and its start on the same engines, which are left alone. *Doubled*
        are rows of logs that are there already. A request under way may be stored without its answer, so a loss smaller than what
        was under way would not be seen.
      - All stages store the same columns of the same logs in the same table, without templates and without identities of
        resources, which the gateway is set not to tell here.""";

  /** Of one number of logs in each request. */
  record Group(int logsPerRequest, List<Result> results) {

    ReportWriter reportWriter() {
      return new ReportWriter(
          Map.of(), null, results.stream().map(Result::caseResult).toList(), List.of());
    }

    String name() {
      return "%s-%d".formatted(NAME, logsPerRequest);
    }

    String heading() {
      return logsPerRequest == 1
          ? "## One log a request"
          : "## %,d logs a request".formatted(logsPerRequest);
    }
  }

  /**
   * Of one stage.
   *
   * @param inserts that ClickHouse has made of what was stored
   */
  record Result(Stage stage, CaseResult caseResult, long inserts, CrashResult crashResult) {

    boolean keepsGuarantee() {
      return stage.keepsGuarantee(caseResult, crashResult);
    }

    /** As it ends. */
    String summaryLine() {
      return "%s; killed: %,d accepted, %,d lost, %,d doubled%s"
          .formatted(
              ReportWriter.summaryLine(caseResult, null),
              crashResult.accepted(),
              crashResult.lost(),
              crashResult.doubled(),
              keepsGuarantee() ? "" : ": NOT WHAT IT PROMISES");
    }

    private double micros() {
      return caseResult.costs().values().stream().mapToDouble(CaseResult.Cost::merged).sum();
    }

    private long mebibytes() {
      return caseResult.costs().values().stream().mapToLong(CaseResult.Cost::peakMebibytes).sum();
    }
  }

  /** What the stages are, and the tables of each group. */
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
            "of the first",
            "logs an insert",
            "p50 ms",
            "p99 ms",
            "p99.9 ms",
            "CPU µs/log",
            "memory MiB",
            "lost",
            "lost when killed",
            "doubled when killed"));
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
            "killed under load", "accepted", "stored", "lost", "doubled", "imbalance"));
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
    text.add(ReportWriter.row("stage", "what it adds", "an answer of success means"));
    text.add(ReportWriter.separatorRow(3));
    for (var each : stages) {
      text.add(ReportWriter.row(each.title(), each.description, each.successMeaning));
    }
    return String.join("\n", text);
  }

  /** A page with its charts, and all figures for a program. */
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
    # The seven stages: what each idea of the gateway brings

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

    ![logs a second](%s-rates.svg)

    ![milliseconds to the answer](%s-latencies.svg)

    ![CPU of a log](%s-cpu.svg)

    %s"""
        .formatted(group.heading(), group.name(), group.name(), group.name(), tables(group));
  }
}
