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
record Growth(Axis axis, List<MeasuredPoint> points, List<String> notes) {
  /** Of the dearest to the cheapest; what is below is flat. */
  private static final double MAX_FLAT_RATIO = 1.2;

  /**
   * @param at the place on the axis
   * @param bytesPerLog of the requests
   * @param standIn seconds in which logs went to the write-ahead log, since Redis kept them
   *     waiting: they cost more, and what is measured is not what was meant
   */
  record MeasuredPoint(
      long at, double bytesPerLog, CaseResult caseResult, InsertCpu insertCpu, int standIn) {

    /** What is in front of ClickHouse, which does not depend on the merges that are due. */
    double gatewayAndRedisCpu() {
      return caseResult.cost("gateway").stored() + caseResult.cost("Redis").stored();
    }

    double insert() {
      return insertCpu.insert();
    }
  }

  /** Of the same point, by what is in front of ClickHouse. */
  static MeasuredPoint median(List<MeasuredPoint> rounds) {
    return rounds.stream()
        .sorted(Comparator.comparingDouble(MeasuredPoint::gatewayAndRedisCpu))
        .toList()
        .get(rounds.size() / 2);
  }

  /** In Markdown. */
  String table() {
    var text = new ArrayList<String>();
    text.add(
        ReportWriter.row(
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
    text.add(ReportWriter.separatorRow(16));
    for (var each : points) {
      text.add(row(each));
    }
    return String.join("\n", text);
  }

  private static String row(MeasuredPoint point) {
    var caseResult = point.caseResult;
    return ReportWriter.row(
        "%,d".formatted(point.at),
        "%,.0f".formatted(point.bytesPerLog),
        "%,.0f".formatted(caseResult.acceptedPerSecond()),
        "%,.0f".formatted(caseResult.storedPerSecond()),
        "%.2f".formatted(caseResult.cost("gateway").stored()),
        "%.2f".formatted(caseResult.cost("Redis").stored()),
        "%.2f".formatted(caseResult.cost("ClickHouse").stored()),
        "%.2f".formatted(caseResult.cost("ClickHouse").merged()),
        "%.2f".formatted(point.insertCpu.insert()),
        "%.2f".formatted(point.insertCpu.merge()),
        "%.1f".formatted(point.insertCpu.times()),
        "%.1f".formatted(caseResult.latency().p99()),
        "%d".formatted(point.standIn),
        "%,d".formatted(caseResult.notTaken()),
        "%,d".formatted(caseResult.lost()),
        "%,d".formatted(caseResult.extra()));
  }

  /** A sentence for each cost that is judged. */
  List<String> verdicts() {
    var verdicts = new ArrayList<String>();
    verdicts.add(verdict("gateway and Redis", MeasuredPoint::gatewayAndRedisCpu));
    if (axis == Axis.TABLE || !axis.unit.isEmpty()) {
      verdicts.add(verdict("ClickHouse's inserts", MeasuredPoint::insert));
    }
    return verdicts;
  }

  private String verdict(String name, ToDoubleFunction<MeasuredPoint> cost) {
    var judged = points.stream().filter(point -> point.at >= axis.flatFrom).toList();
    if (judged.size() < 2) {
      return name + ": too few points to judge";
    }
    if (!axis.unit.isEmpty()) {
      var line =
          Trend.of(
              judged.stream().map(point -> (double) point.at).toList(),
              judged.stream().map(cost::applyAsDouble).toList());
      return "%s: %.2f ns for each %s".formatted(name, line.slope() * 1e3, axis.unit);
    }
    var costs = judged.stream().mapToDouble(cost).summaryStatistics();
    double ratio = costs.getMax() / costs.getMin();
    return "%s%s: flat within %sx: %s (%.2f)"
        .formatted(
            name,
            axis.flatFrom == 0 ? "" : ", from %d %s on".formatted(axis.flatFrom, axis.title),
            MAX_FLAT_RATIO,
            ratio <= MAX_FLAT_RATIO ? "yes" : "no",
            ratio);
  }

  LineChart costChart() {
    return chart(
        "CPU of a log by " + axis.title,
        "µs",
        line("gateway", point -> point.caseResult.cost("gateway").stored()),
        line("Redis", point -> point.caseResult.cost("Redis").stored()),
        line("ClickHouse, its inserts", MeasuredPoint::insert));
  }

  LineChart rateChart() {
    return chart(
        "logs a second by " + axis.title,
        "logs/s",
        line("stored", point -> point.caseResult.storedPerSecond()),
        line("accepted", point -> point.caseResult.acceptedPerSecond()));
  }

  private LineChart chart(String title, String yLabel, LineChart.Line... lines) {
    var positions = points.stream().map(point -> (double) point.at).toList();
    return new LineChart(title, axis.title, yLabel, true, positions, List.of(lines));
  }

  private LineChart.Line line(String name, ToDoubleFunction<MeasuredPoint> value) {
    return new LineChart.Line(name, points.stream().map(value::applyAsDouble).toList());
  }
}
