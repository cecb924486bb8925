package dev.sluice.bench;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.ToDoubleFunction;

/**
 * How the cost of a log goes along an axis.
 *
 * @param notes of what was there before
 */
record Growth(Axis axis, List<Measured> points, List<String> notes) {
  /** Of the dearest to the cheapest; what is below is flat. */
  private static final double FLAT = 1.2;

  /**
   * @param at the place on the axis
   * @param bytesPerLog of the requests
   * @param standIn seconds in which logs went to the write-ahead log, since Redis kept them
   *     waiting: they cost more, and what is measured is not what was meant
   */
  record Measured(long at, double bytesPerLog, Outcome outcome, Writing writing, int standIn) {

    /** What is in front of ClickHouse, which does not depend on the merges that are due. */
    double front() {
      return outcome.cost("gateway").stored() + outcome.cost("Redis").stored();
    }

    double insert() {
      return writing.insert();
    }
  }

  /** Of the same point, by what is in front of ClickHouse. */
  static Measured middle(List<Measured> turns) {
    return turns.stream()
        .sorted(Comparator.comparingDouble(Measured::front))
        .toList()
        .get(turns.size() / 2);
  }

  /** In Markdown. */
  String table() {
    var text = new ArrayList<String>();
    text.add(
        Findings.row(
            axis.title,
            "bytes/log",
            "accepted/s",
            "stored/s",
            "gateway µs",
            "Redis µs",
            "ClickHouse µs",
            "ClickHouse, merged µs",
            "insert µs",
            "merge µs",
            "merged times",
            "p99 ms",
            "not by Redis s",
            "not taken",
            "lost",
            "extra"));
    text.add(Findings.rule(16));
    for (var each : points) {
      text.add(row(each));
    }
    return String.join("\n", text);
  }

  private static String row(Measured point) {
    var outcome = point.outcome;
    return Findings.row(
        "%,d".formatted(point.at),
        "%,.0f".formatted(point.bytesPerLog),
        "%,.0f".formatted(outcome.acceptedPerSecond()),
        "%,.0f".formatted(outcome.storedPerSecond()),
        "%.2f".formatted(outcome.cost("gateway").stored()),
        "%.2f".formatted(outcome.cost("Redis").stored()),
        "%.2f".formatted(outcome.cost("ClickHouse").stored()),
        "%.2f".formatted(outcome.cost("ClickHouse").merged()),
        "%.2f".formatted(point.writing.insert()),
        "%.2f".formatted(point.writing.merge()),
        "%.1f".formatted(point.writing.times()),
        "%.1f".formatted(outcome.latency().p99()),
        "%d".formatted(point.standIn),
        "%,d".formatted(outcome.notTaken()),
        "%,d".formatted(outcome.lost()),
        "%,d".formatted(outcome.extra()));
  }

  /** A sentence for each cost that is judged. */
  List<String> verdicts() {
    var verdicts = new ArrayList<String>();
    verdicts.add(verdict("gateway and Redis", Measured::front));
    if (axis == Axis.TABLE || !axis.each.isEmpty()) {
      verdicts.add(verdict("ClickHouse's inserts", Measured::insert));
    }
    return verdicts;
  }

  private String verdict(String whose, ToDoubleFunction<Measured> cost) {
    var judged = points.stream().filter(point -> point.at >= axis.flatFrom).toList();
    if (judged.size() < 2) {
      return whose + ": too few points to judge";
    }
    if (!axis.each.isEmpty()) {
      var line =
          Trend.of(
              judged.stream().map(point -> (double) point.at).toList(),
              judged.stream().map(cost::applyAsDouble).toList());
      return "%s: %.2f ns for each %s".formatted(whose, line.slope() * 1e3, axis.each);
    }
    var costs = judged.stream().mapToDouble(cost).summaryStatistics();
    double ratio = costs.getMax() / costs.getMin();
    return "%s%s: flat within %sx: %s (%.2f)"
        .formatted(
            whose,
            axis.flatFrom == 0 ? "" : ", from %d %s on".formatted(axis.flatFrom, axis.title),
            FLAT,
            ratio <= FLAT ? "yes" : "no",
            ratio);
  }

  LineChart costs() {
    return chart(
        "CPU of a log by " + axis.title,
        "µs",
        line("gateway", point -> point.outcome.cost("gateway").stored()),
        line("Redis", point -> point.outcome.cost("Redis").stored()),
        line("ClickHouse, its inserts", Measured::insert));
  }

  LineChart rates() {
    return chart(
        "logs a second by " + axis.title,
        "logs/s",
        line("stored", point -> point.outcome.storedPerSecond()),
        line("accepted", point -> point.outcome.acceptedPerSecond()));
  }

  private LineChart chart(String title, String up, LineChart.Line... lines) {
    var at = points.stream().map(point -> (double) point.at).toList();
    return new LineChart(title, axis.title, up, true, at, List.of(lines));
  }

  private LineChart.Line line(String name, ToDoubleFunction<Measured> value) {
    return new LineChart.Line(name, points.stream().map(value::applyAsDouble).toList());
  }
}
