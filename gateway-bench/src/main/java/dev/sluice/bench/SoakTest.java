package dev.sluice.bench;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * The result of an endurance test: samples of the gateway and its engines at a constant rate for
 * minutes.
 *
 * @param rate the rate of the load in logs per second
 * @param samples the samples, one of every few seconds
 */
record SoakTest(double rate, CaseResult caseResult, List<Sample> samples) {

  /** The measures of a sample, and whether each is expected to grow. */
  enum Measure {
    HEAP("heap after GC", "MiB", false),
    GATEWAY("gateway resident", "MiB", false),
    REDIS("Redis resident", "MiB", false),
    CLICKHOUSE("ClickHouse resident", "MiB", false),
    ENTRIES("stream entries", "", false),
    PENDING("pending entries", "", false),
    PARTS("active parts", "", false),
    P99("p99", "ms", false),
    STORED("rows stored", "", true);

    private final String title;
    private final String unit;
    private final boolean mayGrow;

    Measure(String title, String unit, boolean mayGrow) {
      this.title = title;
      this.unit = unit;
      this.mayGrow = mayGrow;
    }

    private String label() {
      return unit.isEmpty() ? title : title + " " + unit;
    }
  }

  /**
   * One sample.
   *
   * @param second the seconds since the first request
   * @param values the values of the measures; some may be missing
   */
  record Sample(double second, Map<Measure, Double> values) {

    double value(Measure measure) {
      return values.getOrDefault(measure, Double.NaN);
    }
  }

  /**
   * Returns a Markdown table with a row for each minute: the median of its samples, or the last
   * sample of a measure that is expected to grow.
   */
  String table() {
    var text = new ArrayList<String>();
    var head = new ArrayList<>(List.of("minute"));
    Arrays.stream(Measure.values()).map(Measure::label).forEach(head::add);
    text.add(ReportWriter.row(head.toArray(String[]::new)));
    text.add(ReportWriter.separatorRow(head.size()));
    for (var each : perMinute()) {
      var cells = new ArrayList<>(List.of("%.0f".formatted(each.second / 60)));
      for (var measure : Measure.values()) {
        double value = each.value(measure);
        var format = measure == Measure.P99 ? "%,.1f" : "%,.0f";
        cells.add(Double.isNaN(value) ? "" : format.formatted(value));
      }
      text.add(ReportWriter.row(cells.toArray(String[]::new)));
    }
    return String.join("\n", text);
  }

  private List<Sample> perMinute() {
    var minutes = new ArrayList<Sample>();
    double end = samples.isEmpty() ? 0 : samples.getLast().second;
    for (int from = 0; from < end; from += 60) {
      int begin = from;
      var within =
          samples.stream()
              .filter(each -> each.second > begin && each.second <= begin + 60)
              .toList();
      var values = new EnumMap<Measure, Double>(Measure.class);
      for (var measure : Measure.values()) {
        var found = values(within, measure);
        if (!found.isEmpty()) {
          values.put(measure, measure.mayGrow ? found.getLast() : median(found));
        }
      }
      minutes.add(new Sample(from + 60, values));
    }
    return minutes;
  }

  private static List<Double> values(List<Sample> samples, Measure measure) {
    return samples.stream()
        .map(each -> each.value(measure))
        .filter(value -> !value.isNaN())
        .toList();
  }

  private static double median(List<Double> values) {
    return values.stream().sorted().toList().get(values.size() / 2);
  }

  /** Returns a sentence for each measure that should be constant. */
  List<String> verdicts() {
    return Arrays.stream(Measure.values())
        .filter(measure -> !measure.mayGrow)
        .map(this::verdict)
        .toList();
  }

  private String verdict(Measure measure) {
    var measured = samples.stream().filter(each -> !Double.isNaN(each.value(measure))).toList();
    if (measured.size() < 3) { // a line through two points has no error
      return measure.title + ": too few samples";
    }
    var trend = Trend.of(measured.stream().map(Sample::second).toList(), values(measured, measure));
    return "%s: %+.1f %% over the run (± %.1f): %s"
        .formatted(measure.title, trend.growth() * 100, trend.error() * 100, trend.verdict());
  }

  LineChart memoryChart() {
    return chart("memory", "MiB", Measure.HEAP, Measure.GATEWAY, Measure.REDIS, Measure.CLICKHOUSE);
  }

  LineChart backlogChart() {
    return chart("backlog", "number", Measure.ENTRIES, Measure.PENDING, Measure.PARTS);
  }

  LineChart latencyChart() {
    return chart("response latency", "ms", Measure.P99);
  }

  private LineChart chart(String title, String yLabel, Measure... measures) {
    return new LineChart(
        title,
        "minutes",
        yLabel,
        false,
        samples.stream().map(each -> each.second / 60).toList(),
        Arrays.stream(measures)
            .map(
                measure ->
                    new LineChart.Line(
                        measure.title, samples.stream().map(each -> each.value(measure)).toList()))
            .toList());
  }
}
