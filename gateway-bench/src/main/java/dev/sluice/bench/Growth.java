package dev.sluice.bench;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.ToDoubleFunction;

/**
 * The cost of a log along an axis.
 *
 * @param notes remarks about the preparation of the points, such as the rows that were loaded
 */
record Growth(Axis axis, List<MeasuredPoint> points, List<String> notes) {
  /** The maximum ratio of the most expensive point to the cheapest point for a flat cost. */
  private static final double MAX_FLAT_RATIO = 1.2;

  /**
   * The result of one point.
   *
   * @param at the position on the axis
   * @param bytesPerLog the average size of a log in the requests
   * @param standIn the seconds in which logs went to the write-ahead log because Redis was too
   *     slow; such logs cost more, so the point shows nothing about its axis
   */
  record MeasuredPoint(
      long at, double bytesPerLog, CaseResult caseResult, InsertCpu insertCpu, int standIn) {

    /**
     * Returns the CPU of gateway and Redis per log, which does not depend on the merges during the
     * measurement.
     */
    double gatewayAndRedisCpu() {
      return caseResult.cost("gateway").stored() + caseResult.cost("Redis").stored();
    }

    double insert() {
      return insertCpu.insert();
    }
  }

  /** Returns the median round of a point, by the CPU of gateway and Redis. */
  static MeasuredPoint median(List<MeasuredPoint> rounds) {
    return rounds.stream()
        .sorted(Comparator.comparingDouble(MeasuredPoint::gatewayAndRedisCpu))
        .toList()
        .get(rounds.size() / 2);
  }

  /** Returns the points as a Markdown table. */
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
            "merges per row",
            "p99 ms",
            "WAL fallback s",
            "not accepted",
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

  /** Returns a sentence for each cost that should be flat or linear. */
  List<String> verdicts() {
    var verdicts = new ArrayList<String>();
    verdicts.add(verdict("gateway and Redis", MeasuredPoint::gatewayAndRedisCpu));
    if (axis == Axis.TABLE || !axis.unit.isEmpty()) {
      verdicts.add(verdict("ClickHouse's inserts", MeasuredPoint::insert));
    }
    return verdicts;
  }

  private String verdict(String name, ToDoubleFunction<MeasuredPoint> cost) {
    var relevant = points.stream().filter(point -> point.at >= axis.flatFrom).toList();
    if (relevant.size() < 2) {
      return name + ": too few points";
    }
    if (!axis.unit.isEmpty()) {
      var line =
          Trend.of(
              relevant.stream().map(point -> (double) point.at).toList(),
              relevant.stream().map(cost::applyAsDouble).toList());
      return "%s: %.2f ns for each %s".formatted(name, line.slope() * 1e3, axis.unit);
    }
    var costs = relevant.stream().mapToDouble(cost).summaryStatistics();
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
        "CPU per log by " + axis.title,
        "µs",
        line("gateway", point -> point.caseResult.cost("gateway").stored()),
        line("Redis", point -> point.caseResult.cost("Redis").stored()),
        line("ClickHouse inserts", MeasuredPoint::insert));
  }

  LineChart rateChart() {
    return chart(
        "logs per second by " + axis.title,
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
