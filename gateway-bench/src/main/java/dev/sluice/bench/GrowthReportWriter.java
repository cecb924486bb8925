package dev.sluice.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import tools.jackson.databind.json.JsonMapper;

/**
 * The results of a run of {@link GrowthReport}, as pages with charts and as JSON.
 *
 * @param setup the conditions of the run, such as machine and versions, by name
 */
record GrowthReportWriter(Map<String, String> setup) {
  private static final String GROWTH = "growth";
  private static final String ENDURANCE = "endurance";
  private static final String NOTES =
      """
      Definitions:

      - CPU is in microseconds per stored log. The first columns count until the last log is in the table, the *merged* column
        until all merges have ended.
      - The merges during one point are random, and they cost more than inserts. So there are three columns from ClickHouse's own
        query and part logs: *insert* is its CPU per inserted row, *merge* its CPU per merged row, and *merges per row* the number
        of merged rows per inserted row.
      - The verdict below the table is about the CPU of gateway and Redis until the last log is in the table, and about
        ClickHouse's inserts.
      - Clients wait for each response, so *p99* is the latency at the maximum rate that is accepted, which is higher than the rate
        that can be stored.
      - *Lost* logs are accepted and not in the table. *Extra* logs are in the table, and were neither accepted nor in flight when
        the load ended. *Not accepted* are requests without a success response.
      - *WAL fallback* is the number of seconds in which logs went to the write-ahead log, because Redis was too slow. Such logs
        cost more, so a point with such seconds shows nothing about its axis.""";
  private static final String ENDURANCE_NOTES =
      """
      Definitions:

      - The rate is below the maximum that can be stored; above that maximum the backlog grows without bound.
      - Requests are sent when they are due, over eight connections, and latency counts from that moment.
      - *Heap after GC* is the reachable heap after a full collection, which the report requests once a minute. Its pause is part
        of the latencies.
      - The table shows the median of the samples of each minute; for the stored rows it shows the last sample.
      - Growth is the rise of a fitted line (least squares) over the run, relative to the mean of the samples. More than 10 % is
        reported as growth, unless chance explains it. The number after ± is the part that chance explains: two standard errors.""";

  static String markdown(Growth growth) {
    return """
        %s

        %s%s"""
        .formatted(
            growth.table(),
            bullets(growth.notes()),
            growth.verdicts().stream().map(each -> "- " + each).collect(Collectors.joining("\n")));
  }

  private static String bullets(List<String> lines) {
    return lines.stream().map(each -> "- " + each + "\n").collect(Collectors.joining());
  }

  static String markdown(SoakTest run) {
    return """
        %,.0f logs per second: %,d accepted, %,d stored; %,d requests not accepted, %,d logs lost, %,d extra.

        %s

        %s"""
        .formatted(
            run.rate(),
            run.caseResult().accepted(),
            run.caseResult().stored(),
            run.caseResult().notTaken(),
            run.caseResult().lost(),
            run.caseResult().extra(),
            run.table(),
            bullets(run.verdicts()));
  }

  /**
   * Writes the page, the charts and the JSON file of one axis, so that another run can measure
   * another axis.
   */
  void write(Path folder, Growth growth) throws IOException {
    Files.createDirectories(folder);
    var name = GROWTH + "-" + growth.axis().name().toLowerCase(Locale.ROOT);
    var text =
        List.of(
            writeChart(folder, name + "-cpu", growth.costChart()),
            writeChart(folder, name + "-rates", growth.rateChart()),
            markdown(growth));
    writePage(folder, name, "Cost of a log by " + growth.axis().title, NOTES, text);
    writeFigures(folder, name, growth);
  }

  void write(Path folder, SoakTest run) throws IOException {
    Files.createDirectories(folder);
    var text =
        List.of(
            writeChart(folder, ENDURANCE + "-memory", run.memoryChart()),
            writeChart(folder, ENDURANCE + "-waiting", run.backlogChart()),
            writeChart(folder, ENDURANCE + "-latency", run.latencyChart()),
            markdown(run));
    writePage(folder, ENDURANCE, "Endurance: a constant rate for minutes", ENDURANCE_NOTES, text);
    writeFigures(folder, ENDURANCE, run);
  }

  private static String writeChart(Path folder, String name, LineChart chart) throws IOException {
    Files.writeString(folder.resolve(name + ".svg"), chart.svg());
    return "![%s](%s.svg)".formatted(chart.title(), name);
  }

  private void writePage(Path folder, String name, String title, String notes, List<String> text)
      throws IOException {
    var head =
        """
        # %s

        Written by `make bench-growth`.

        %s
        %s
        """
            .formatted(
                title,
                bullets(
                    setup.entrySet().stream()
                        .map(each -> each.getKey() + ": " + each.getValue())
                        .toList()),
                notes);
    Files.writeString(folder.resolve(name + ".md"), head + "\n" + String.join("\n\n", text) + "\n");
  }

  private void writeFigures(Path folder, String name, Object found) throws IOException {
    var json = JsonMapper.shared().writerWithDefaultPrettyPrinter();
    var figures = Map.of("setup", setup, "found", found);
    Files.writeString(folder.resolve(name + ".json"), json.writeValueAsString(figures) + "\n");
  }
}
