package dev.sluice.bench;

import dev.sluice.bench.Targets.Target;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;

/**
 * The results of one run of {@link EndToEndReport}, as tables, charts and JSON.
 *
 * @param setup the conditions of the run, such as machine and versions, by name
 * @param clickHouseBaseline the CPU cost of ClickHouse alone; null when it was not measured
 * @param outcomes the results, one for each case
 * @param goals the targets of these cases, possibly none
 */
record ReportWriter(
    Map<String, String> setup,
    @Nullable ClickHouseBaseline clickHouseBaseline,
    List<CaseResult> outcomes,
    List<Target> goals) {
  private static final String NAME = "end-to-end";
  private static final String TARGETS_PAGE = "targets.md";
  private static final List<String> PROCESSES = List.of("gateway", "Redis", "ClickHouse");
  private static final String NOTES =
      """
      - CPU is in microseconds per stored log. The first columns count until the last log is in the table, the *merged* columns
        until all merges have ended. The CPU of the load generator is per accepted log and includes reading its request bodies.
      - The *floor* is the CPU of ClickHouse alone, for rows of the same table in ready Native blocks.
      - *Lost* logs are accepted and not in the table. *Extra* logs are in the table, and were neither accepted nor in flight when
        the load ended. *Not accepted* are requests without a success response.
      - Latency is that of clients which wait for each response. The open loop sends each request when it is due, whether earlier
        requests have a response or not; its latency counts from that moment.
      - Memory is the peak of resident memory. *allocated* is the memory that the gateway allocates on its heap.
      - The *accepted* rate of the drain is that of a gateway with the ingest role only; its cost is that of the gateway which
        drains the stream.""";

  private static final String TARGETS_INTRODUCTION =
      """
      # Performance targets

      Goals of the maintainers for two cores, which the load generator, Redis and ClickHouse share with the gateway. `make bench` prints them; with `OUT=docs/benchmarks`
      it writes this page. A missed target needs the profile that shows the reason: [ADR 0045](../adr/0045-accept-clickhouse-as-the-throughput-limit.md),
      [ADR 0042](../adr/0042-plan-the-load-for-half-of-the-cores.md) and [ADR 0041](../adr/0041-run-with-2-gb-and-the-parallel-collector.md).
      """;

  /** Creates the tables of results without a floor and without targets. */
  ReportWriter(List<CaseResult> outcomes) {
    this(Map.of(), null, outcomes, List.of());
  }

  /** Returns the conditions of a run, to which a report adds its own. */
  static Map<String, String> setup(Path folder, String versions) throws IOException {
    var options = String.join(" ", JavaProcess.options());
    var setup = new LinkedHashMap<String, String>();
    setup.put("machine", WorkDir.describeMachine(folder));
    setup.put("gateway", Environment.text("COMMIT", "unknown") + ", " + options);
    setup.put("engines", versions);
    setup.put("load generators", Environment.text("GENERATORS", "unknown"));
    return setup;
  }

  /** Returns one line with the main figures of a finished case. */
  static String summaryLine(
      CaseResult caseResult, @Nullable ClickHouseBaseline clickHouseBaseline) {
    return "%s: %,.0f accepted/s, %,.0f stored/s, %,d lost, %,d extra, p99 %.1f ms%s"
        .formatted(
            caseResult.name(),
            caseResult.acceptedPerSecond(),
            caseResult.storedPerSecond(),
            caseResult.lost(),
            caseResult.extra(),
            caseResult.latency().p99(),
            clickHouseBaseline == null
                ? ""
                : ", %.2f of the floor".formatted(caseResult.ratioToBaseline(clickHouseBaseline)));
  }

  /** Returns the targets and their measured values as a Markdown table. */
  String targetTable() {
    var text = new ArrayList<String>();
    text.add(row("metric", "target", "measured", "reached"));
    text.add(separatorRow(4));
    goals.forEach(target -> text.add(row(target.cells())));
    return String.join("\n", text);
  }

  /** Returns the results as Markdown tables, which are readable on a console too. */
  String tables() {
    var text = new ArrayList<String>();
    text.add(
        row(
            "case",
            "accepted/s",
            "stored/s",
            "merged after, s",
            "not accepted",
            "lost",
            "extra",
            "imbalance"));
    text.add(separatorRow(8));
    for (var each : outcomes) {
      text.add(
          row(
              each.name(),
              "%,.0f".formatted(each.acceptedPerSecond()),
              "%,.0f".formatted(each.storedPerSecond()),
              "%.0f".formatted(each.mergedAfter()),
              "%,d".formatted(each.notTaken()),
              "%,d".formatted(each.lost()),
              "%,d".formatted(each.extra()),
              number(each.imbalance())));
    }
    text.add("");
    var costs =
        new ArrayList<>(
            List.of(
                "CPU µs/log",
                "gateway",
                "Redis",
                "ClickHouse",
                "gateway, merged",
                "Redis, merged",
                "ClickHouse, merged",
                "generator"));
    if (clickHouseBaseline != null) {
      costs.add("(gateway + Redis) / floor");
      costs.add("(gateway + Redis) / floor without merges");
    }
    text.add(row(costs));
    text.add(separatorRow(costs.size()));
    for (var each : outcomes) {
      text.add(costRow(each));
    }
    if (clickHouseBaseline != null) {
      text.add(
          row(
              "floor: ClickHouse alone, %,d rows".formatted(clickHouseBaseline.rows()),
              "",
              "",
              micros(clickHouseBaseline.insert()),
              "",
              "",
              micros(clickHouseBaseline.merged()),
              "",
              "1",
              "1"));
    }
    text.add("");
    text.add(
        row(
            "",
            "p50 ms",
            "p99 ms",
            "p99.9 ms",
            "gateway MiB",
            "Redis MiB",
            "ClickHouse MiB",
            "allocated B/log"));
    text.add(separatorRow(8));
    for (var each : outcomes) {
      text.add(
          row(
              each.name(),
              "%.1f".formatted(each.latency().p50()),
              "%.1f".formatted(each.latency().p99()),
              "%.1f".formatted(each.latency().p999()),
              peakMemory(each, "gateway"),
              peakMemory(each, "Redis"),
              peakMemory(each, "ClickHouse"),
              Double.isNaN(each.allocated()) ? "" : "%,.0f".formatted(each.allocated())));
    }
    return String.join("\n", text);
  }

  private String costRow(CaseResult each) {
    var cells = new ArrayList<>(List.of(each.name()));
    for (var process : PROCESSES) {
      cells.add(micros(each.cost(process).stored()));
    }
    for (var process : PROCESSES) {
      cells.add(micros(each.cost(process).merged()));
    }
    cells.add(micros(each.generatorMicros()));
    if (clickHouseBaseline != null) {
      cells.add("%.2f".formatted(each.ratioToBaseline(clickHouseBaseline)));
      cells.add("%.2f".formatted(each.ratioToBaselineInsert(clickHouseBaseline)));
    }
    return row(cells);
  }

  private static String micros(double micros) {
    return "%.2f".formatted(micros);
  }

  private static String peakMemory(CaseResult caseResult, String process) {
    return "%,d".formatted(caseResult.cost(process).peakMebibytes());
  }

  static String number(@Nullable Long number) {
    return number == null ? "" : "%,d".formatted(number);
  }

  static String row(String... cells) {
    return row(List.of(cells));
  }

  private static String row(List<String> cells) {
    return "| " + String.join(" | ", cells) + " |";
  }

  static String separatorRow(int cells) {
    return "|" + "---|".repeat(cells);
  }

  /**
   * Writes the page {@code end-to-end.md} with its charts, and all figures as JSON, into a
   * directory.
   *
   * @param folder the directory, created when it does not exist
   */
  void write(Path folder) throws IOException {
    Files.createDirectories(folder);
    Files.writeString(folder.resolve(NAME + "-rates.svg"), rateChart().svg());
    Files.writeString(folder.resolve(NAME + "-cpu.svg"), costChart().svg());
    Files.writeString(
        folder.resolve(NAME + ".json"),
        JsonMapper.shared().writerWithDefaultPrettyPrinter().writeValueAsString(this) + "\n");
    var page =
        """
        # End to end: from request to row

        Written by `make bench`.

        %s

        ![logs per second](%s-rates.svg)

        ![CPU per log](%s-cpu.svg)

        %s

        %s
        """
            .formatted(bulletList(setup), NAME, NAME, tables(), NOTES);
    Files.writeString(folder.resolve(NAME + ".md"), page);
  }

  /**
   * Writes the page of the targets, which is for maintainers: {@code targets.md} in the directory
   * {@code contributing} beside the given one, or in the given one when there is no such directory.
   *
   * @param folder the directory of the report
   */
  void writeTargets(Path folder) throws IOException {
    var contributing = folder.resolveSibling("contributing");
    var target = Files.isDirectory(contributing) ? contributing : Files.createDirectories(folder);
    Files.writeString(
        target.resolve(TARGETS_PAGE), TARGETS_INTRODUCTION + "\n" + targetTable() + "\n");
  }

  static String bulletList(Map<String, String> setup) {
    return setup.entrySet().stream()
        .map(each -> "- %s: %s".formatted(each.getKey(), each.getValue()))
        .collect(Collectors.joining("\n"));
  }

  BarChart rateChart() {
    return new BarChart(
        "logs per second",
        "%,.0f",
        List.of("stored", "accepted"),
        false,
        outcomes.stream()
            .map(
                each ->
                    new BarChart.Bars(
                        each.name(), List.of(each.storedPerSecond(), each.acceptedPerSecond())))
            .toList());
  }

  BarChart latencyChart() {
    return new BarChart(
        "response latency in milliseconds",
        "%.1f",
        List.of("p50", "p99", "p99.9"),
        false,
        outcomes.stream()
            .map(
                each ->
                    new BarChart.Bars(
                        each.name(),
                        List.of(each.latency().p50(), each.latency().p99(), each.latency().p999())))
            .toList());
  }

  BarChart costChart() {
    var bars = new ArrayList<BarChart.Bars>();
    for (var each : outcomes) {
      bars.add(
          new BarChart.Bars(
              each.name(),
              PROCESSES.stream().map(process -> each.cost(process).merged()).toList()));
    }
    if (clickHouseBaseline != null) {
      bars.add(new BarChart.Bars("floor", List.of(0.0, 0.0, clickHouseBaseline.merged())));
    }
    return new BarChart("microseconds of CPU per log, merged", "%.2f", PROCESSES, true, bars);
  }
}
