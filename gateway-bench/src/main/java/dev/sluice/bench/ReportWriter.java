package dev.sluice.bench;

import dev.sluice.bench.Targets.Target;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.json.JsonMapper;

/**
 * All that a run of {@link EndToEndReport} has found.
 *
 * @param setup on what the figures depend
 * @param clickHouseBaseline null when it was not measured
 * @param goals that these cases have; may be none
 */
record ReportWriter(
    Map<String, String> setup,
    @Nullable ClickHouseBaseline clickHouseBaseline,
    List<CaseResult> outcomes,
    List<Target> goals) {
  private static final String NAME = "end-to-end";
  private static final List<String> PROCESSES = List.of("gateway", "Redis", "ClickHouse");
  private static final String NOTES =
      """
      CPU is in microseconds for a stored log, until the last one was in the table, and *merged* once all merges had ended;
      the load generator's is for an accepted one, what it takes to read its bodies included. Lost is what was accepted and is not in the table, extra what is there and
      was neither accepted nor under way when the load ended. How long answers took is told of clients that wait for each,
      but for the open loop, whose requests come whether others are answered or not, and whose time counts from when a
      request was due. Memory is the most that was resident, *allocated* what the gateway made on its heap. The drain's *accepted* is what a gateway that only takes in
      took; its cost is that of the gateway that empties the stream.""";

  /** One case as it ends. */
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

  /** In Markdown, which can be read on a console too. */
  String tables() {
    var text = new ArrayList<String>();
    if (!goals.isEmpty()) {
      text.add(row("what", "wanted", "found", "reached"));
      text.add(separatorRow(4));
      goals.forEach(target -> text.add(row(target.cells())));
      text.add("");
    }
    text.add(
        row(
            "case",
            "accepted/s",
            "stored/s",
            "merged after, s",
            "not taken",
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
      costs.add("the same without merges");
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

  /** A page with its charts, and all figures for a program. */
  void write(Path folder) throws IOException {
    Files.createDirectories(folder);
    Files.writeString(folder.resolve(NAME + "-rates.svg"), rateChart().svg());
    Files.writeString(folder.resolve(NAME + "-cpu.svg"), costChart().svg());
    Files.writeString(
        folder.resolve(NAME + ".json"),
        JsonMapper.shared().writerWithDefaultPrettyPrinter().writeValueAsString(this) + "\n");
    var page =
        """
        # End to end: from the request to the row

        Written by `make bench`.

        %s

        ![logs a second](%s-rates.svg)

        ![CPU of a log](%s-cpu.svg)

        %s

        %s
        """
            .formatted(bulletList(setup), NAME, NAME, tables(), NOTES);
    Files.writeString(folder.resolve(NAME + ".md"), page);
  }

  static String bulletList(Map<String, String> setup) {
    return setup.entrySet().stream()
        .map(each -> "- %s: %s".formatted(each.getKey(), each.getValue()))
        .collect(Collectors.joining("\n"));
  }

  BarChart rateChart() {
    return new BarChart(
        "logs a second",
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
        "milliseconds to the answer",
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
    return new BarChart("microseconds of CPU for a log, merged", "%.2f", PROCESSES, true, bars);
  }
}
