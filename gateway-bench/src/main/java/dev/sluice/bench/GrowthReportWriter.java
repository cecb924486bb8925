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
 * What a run of {@link GrowthReport} has found, as pages with charts and as figures for programs.
 *
 * @param setup on what the figures depend
 */
record GrowthReportWriter(Map<String, String> setup) {
  private static final String GROWTH = "growth";
  private static final String ENDURANCE = "endurance";
  private static final String NOTES =
      """
      CPU is in microseconds for a stored log, until the last one was in the table, and *merged* once all merges had ended. Which
      merges are due while one point is measured is chance, and they cost more than inserts: so *insert* is what ClickHouse
      says itself of the CPU of its inserts, for a row, *merge* of its merges, for each row of one, and *merged times* how many of those
      there were for a row inserted. What is judged is the CPU of gateway and Redis, until the last log was in the
      table, and of ClickHouse's inserts. Clients wait for each answer, so *p99* is of as much as can be taken in, which is more
      than can be stored. Lost is what was accepted and is not in the table, extra what is there and was neither accepted nor under
      way when the load ended. *not by Redis* are seconds, of those that were sent, in which logs went to the write-ahead log, since Redis
      kept them waiting for too long: then a log costs more, and the point says nothing of the axis.""";
  private static final String ENDURANCE_NOTES =
      """
      The rate is one that can be stored: at more, what waits grows whatever is done. Requests are sent when they are due,
      over eight connections, and an answer's time counts from then. *heap* is what is reachable, by a full collection that
      is asked for once a minute, of which the answers' times have the pause. Of each minute the middle of its samples is shown. What grows is judged by the line
      that lies closest to all samples: by more than 10 % of their mean over the run. What stands behind ± is what chance explains: two standard errors.""";

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
        %,.0f logs a second, of which %,d were taken and %,d stored; %,d requests not taken, %,d logs lost, %,d extra.

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

  /** Of one axis, so that another run may measure another one. */
  void write(Path folder, Growth growth) throws IOException {
    Files.createDirectories(folder);
    var name = GROWTH + "-" + growth.axis().name().toLowerCase(Locale.ROOT);
    var text =
        List.of(
            writeChart(folder, name + "-cpu", growth.costChart()),
            writeChart(folder, name + "-rates", growth.rateChart()),
            markdown(growth));
    writePage(folder, name, "The cost of a log by " + growth.axis().title, NOTES, text);
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
    writePage(folder, ENDURANCE, "Minutes at full rate", ENDURANCE_NOTES, text);
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
