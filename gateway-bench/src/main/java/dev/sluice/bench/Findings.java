package dev.sluice.bench;

import dev.sluice.bench.Goals.Goal;
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
 * @param floor null when it was not measured
 * @param goals that these cases have; may be none
 */
record Findings(
    Map<String, String> setup, @Nullable Floor floor, List<Outcome> outcomes, List<Goal> goals) {
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
  static String line(Outcome outcome, @Nullable Floor floor) {
    return "%s: %,.0f accepted/s, %,.0f stored/s, %,d lost, %,d extra, p99 %.1f ms%s"
        .formatted(
            outcome.name(),
            outcome.acceptedPerSecond(),
            outcome.storedPerSecond(),
            outcome.lost(),
            outcome.extra(),
            outcome.latency().p99(),
            floor == null ? "" : ", %.2f of the floor".formatted(outcome.ratio(floor)));
  }

  /** In Markdown, which can be read on a console too. */
  String tables() {
    var text = new ArrayList<String>();
    if (!goals.isEmpty()) {
      text.add(row("what", "wanted", "found", "reached"));
      text.add(rule(4));
      goals.forEach(goal -> text.add(row(goal.cells())));
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
    text.add(rule(8));
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
    if (floor != null) {
      costs.add("(gateway + Redis) / floor");
      costs.add("the same without merges");
    }
    text.add(row(costs));
    text.add(rule(costs.size()));
    for (var each : outcomes) {
      text.add(cost(each));
    }
    if (floor != null) {
      text.add(
          row(
              "floor: ClickHouse alone, %,d rows".formatted(floor.rows()),
              "",
              "",
              micros(floor.insert()),
              "",
              "",
              micros(floor.merged()),
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
    text.add(rule(8));
    for (var each : outcomes) {
      text.add(
          row(
              each.name(),
              "%.1f".formatted(each.latency().p50()),
              "%.1f".formatted(each.latency().p99()),
              "%.1f".formatted(each.latency().p999()),
              memory(each, "gateway"),
              memory(each, "Redis"),
              memory(each, "ClickHouse"),
              Double.isNaN(each.allocated()) ? "" : "%,.0f".formatted(each.allocated())));
    }
    return String.join("\n", text);
  }

  private String cost(Outcome each) {
    var cells = new ArrayList<>(List.of(each.name()));
    for (var process : PROCESSES) {
      cells.add(micros(each.cost(process).stored()));
    }
    for (var process : PROCESSES) {
      cells.add(micros(each.cost(process).merged()));
    }
    cells.add(micros(each.generatorMicros()));
    if (floor != null) {
      cells.add("%.2f".formatted(each.ratio(floor)));
      cells.add("%.2f".formatted(each.ratioOfInsert(floor)));
    }
    return row(cells);
  }

  private static String micros(double micros) {
    return "%.2f".formatted(micros);
  }

  private static String memory(Outcome outcome, String process) {
    return "%,d".formatted(outcome.cost(process).peakMebibytes());
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

  static String rule(int cells) {
    return "|" + "---|".repeat(cells);
  }

  /** A page with its charts, and all figures for a program. */
  void write(Path folder) throws IOException {
    Files.createDirectories(folder);
    Files.writeString(folder.resolve(NAME + "-rates.svg"), rates().svg());
    Files.writeString(folder.resolve(NAME + "-cpu.svg"), costs().svg());
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
            .formatted(list(setup), NAME, NAME, tables(), NOTES);
    Files.writeString(folder.resolve(NAME + ".md"), page);
  }

  static String list(Map<String, String> setup) {
    return setup.entrySet().stream()
        .map(each -> "- %s: %s".formatted(each.getKey(), each.getValue()))
        .collect(Collectors.joining("\n"));
  }

  BarChart rates() {
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

  BarChart latencies() {
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

  BarChart costs() {
    var bars = new ArrayList<BarChart.Bars>();
    for (var each : outcomes) {
      bars.add(
          new BarChart.Bars(
              each.name(),
              PROCESSES.stream().map(process -> each.cost(process).merged()).toList()));
    }
    if (floor != null) {
      bars.add(new BarChart.Bars("floor", List.of(0.0, 0.0, floor.merged())));
    }
    return new BarChart("microseconds of CPU for a log, merged", "%.2f", PROCESSES, true, bars);
  }
}
