package dev.sluice.bench;

import dev.sluice.bench.RequestBodies.BodyFormat;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * The growth report: how the CPU of a log depends on one variable. One gateway and its engines warm
 * up once and run all points of an {@link Axis}; before each point, the load of the earlier points
 * is stored and merged. It prints a table, and the ratio of the most expensive point to the
 * cheapest.
 *
 * <p>Run by {@code make bench-growth}. Environment variables: {@code AXES}, names of {@link Axis};
 * {@code POINTS}, the points when there is only one axis; {@code SECONDS_EACH}, 10 by default;
 * {@code WARM_UP}, 30; and {@code JAVA_OPTS}. The exit status is 1 when a log is lost or extra.
 */
public final class GrowthReport {
  private static final int CONNECTIONS = 8;
  private static final int LOGS = 500;
  private static final int LEAD_IN_SECONDS = 2;

  /** The number of logs in the request bodies, which the load generator keeps in memory. */
  private static final int DISTINCT_LOGS = 500_000;

  private static final int MAX_BODIES = 100_000;

  private final int seconds = Environment.number("SECONDS_EACH", 10);
  private final int warmUp = Environment.number("WARM_UP", 30);

  private GrowthReport() {}

  /** The variables on which the cost of a log can depend. */
  enum Axis {
    CONNECTIONS("connections", 1, 2, 8, 32, 128, 512),
    REQUEST("logs per request", 1, 10, 100, 500, 1000, 5000),
    TEMPLATES("distinct templates", 10, 100, 1000, 10_000),
    /** The same load again and again: memory or CPU that grows with the age of the process. */
    REPEATS("repetitions", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);

    final String title;
    final List<Integer> defaultPoints;

    Axis(String title, Integer... defaultPoints) {
      this.title = title;
      this.defaultPoints = List.of(defaultPoints);
    }

    Load at(int point) {
      return switch (this) {
        case CONNECTIONS -> new Load(point, LOGS, 0);
        case REQUEST -> new Load(GrowthReport.CONNECTIONS, point, 0);
        case TEMPLATES -> new Load(GrowthReport.CONNECTIONS, LOGS, point);
        case REPEATS -> Load.DEFAULT;
      };
    }
  }

  /**
   * The load of one point.
   *
   * @param logs the number of logs per request
   * @param templates the number of distinct templates; 0 for those of {@link SyntheticLogs}
   */
  record Load(int connections, int logs, int templates) {
    static final Load DEFAULT = new Load(GrowthReport.CONNECTIONS, LOGS, 0);

    int bodies() {
      return Math.clamp(DISTINCT_LOGS / logs, 1, MAX_BODIES);
    }

    private LoadGenerator generator(Gateway gateway, Path folder) throws IOException {
      var url = "http://127.0.0.1:" + gateway.port() + "/v1/logs";
      return Wrk.of(url, folder, BodyFormat.OTLP, bodies(), logs, templates, connections);
    }
  }

  static List<Axis> parseAxes(String names) {
    return Arrays.stream(names.strip().split("[\\s,]+"))
        .map(name -> Axis.valueOf(name.toUpperCase(Locale.ROOT)))
        .toList();
  }

  /**
   * Returns the points of an axis, in ascending order.
   *
   * @param points the points of the only axis; empty for the default points
   */
  static List<Integer> pointsOf(Axis axis, int axes, String points) {
    if (points.isBlank()) {
      return axis.defaultPoints;
    }
    if (axes != 1) {
      throw new IllegalArgumentException("POINTS requires one axis, but AXES has " + axes);
    }
    return Arrays.stream(points.strip().split("[\\s,]+")).map(Integer::valueOf).sorted().toList();
  }

  public static void main(String[] arguments) throws Exception {
    Locale.setDefault(Locale.ROOT); // programs parse the report too
    var axes = parseAxes(Environment.text("AXES", "connections request templates repeats"));
    var folder = WorkDir.create();
    System.out.println(WorkDir.describeMachine(folder));
    boolean complete = true;
    for (var axis : axes) {
      var points = pointsOf(axis, axes.size(), Environment.text("POINTS", ""));
      var results = new GrowthReport().measure(axis, points, folder.resolve(axis.name()));
      System.out.println("\n" + new ReportWriter(results).tables() + "\n\n" + verdict(results));
      complete &= results.stream().allMatch(CaseResult::complete);
    }
    if (complete) { // otherwise the logs in it show the reason
      WorkDir.delete(folder);
    }
    System.exit(complete ? 0 : 1);
  }

  private List<CaseResult> measure(Axis axis, List<Integer> points, Path folder)
      throws IOException, InterruptedException {
    var results = new ArrayList<CaseResult>();
    Files.createDirectories(folder);
    try (var engines = new BenchEngines(folder, "4096mb");
        var gateway = new Gateway(folder.resolve("gateway"), engines.settings())) {
      send(Load.DEFAULT, warmUp, "warm-up", engines, gateway, folder);
      for (int point : points) {
        var load = axis.at(point);
        send(load, LEAD_IN_SECONDS, "lead-in", engines, gateway, folder);
        var name = "%,d %s".formatted(point, axis.title);
        results.add(send(load, seconds, name, engines, gateway, folder));
        System.out.println(ReportWriter.summaryLine(results.getLast(), null));
      }
    }
    return results;
  }

  private static CaseResult send(
      Load load, int seconds, String name, BenchEngines engines, Gateway gateway, Path folder)
      throws IOException, InterruptedException {
    var generator = load.generator(gateway, folder);
    return new Measurement(engines, gateway).await(generator.send(seconds), name, load.logs);
  }

  /** Returns a sentence about the spread of the CPU of gateway and Redis. */
  static String verdict(List<CaseResult> results) {
    var costs = results.stream().mapToDouble(CaseResult::gatewayAndRedisCpu).summaryStatistics();
    return "gateway and Redis: %.2f to %.2f µs/log, ratio %.2f"
        .formatted(costs.getMin(), costs.getMax(), costs.getMax() / costs.getMin());
  }
}
