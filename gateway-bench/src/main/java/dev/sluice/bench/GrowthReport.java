package dev.sluice.bench;

import dev.sluice.bench.Axis.Point;
import dev.sluice.bench.RequestBodies.BodyFormat;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The growth report: how the cost of a log depends on one variable, and whether anything grows
 * while a gateway works for minutes. Along each {@link Axis} one variable changes and all others
 * stay constant. The points of an axis are measured one after the other on one gateway and its
 * engines, which warm up once. The number of shards and the size of the table need a gateway and
 * engines of their own. Before each point, the load of the earlier points is stored and merged, and
 * the gateway receives a short lead-in of the load of this point, so that no point pays for code
 * that is new to it. The first points still cost more, because code is still compiled or memory is
 * touched for the first time. So all points are measured in several rounds, and the median of each
 * point counts.
 *
 * <p>Run by {@code make bench-growth}. Environment variables: {@code AXES}, the names of axes and
 * {@code endurance}; {@code POINTS}, the points of the axis when there is only one axis; {@code
 * SECONDS_EACH}, 10 by default; {@code WARM_UP}, 30; {@code ROUNDS} of all points that share a
 * gateway, 3; {@code MINUTES} of endurance, 10; {@code RATE} of endurance in logs per second, by
 * default a fixed share of the rate that can be stored; {@code OUT}, the directory of the report;
 * and {@code JAVA_OPTS}. The exit status is 1 when a log is lost or extra.
 */
public final class GrowthReport {
  private static final String ENDURANCE = "endurance";

  /**
   * The endurance rate as a share of the rate that is stored in some seconds. In that time hardly
   * any row is merged, although merges cost as much as inserts, and the open-loop generator costs
   * more CPU than the closed-loop one. Measured; see docs/benchmarks.
   */
  private static final double SOAK_LOAD_SHARE = 0.6;

  private static final int LEAD_IN_SECONDS = 2;

  /** The maximum size of the request bodies in bytes; the load generators keep them in memory. */
  private static final long MAX_BODIES_BYTES = 192L << 20;

  /**
   * The maximum number of request bodies; more strings would load the generator and the machine.
   */
  private static final long MAX_BODIES = 250_000;

  /**
   * The memory limit of Redis: long bodies fill the default in seconds, and rejected requests cost
   * CPU too.
   */
  private static final String REDIS_MEMORY = "4096mb";

  private final int seconds = Environment.number("SECONDS_EACH", 10);
  private final int warmUp = Environment.number("WARM_UP", 30);
  private final int rounds = Environment.number("ROUNDS", 3);
  private final int minutes = Environment.number("MINUTES", 10);
  private final int rate = Environment.number("RATE", 0);
  private final RunOptions options;
  private final Path folder;
  private boolean complete = true;
  private String versions = "";

  private GrowthReport(RunOptions options, Path folder) {
    this.options = options;
    this.folder = folder;
  }

  /**
   * The axes and points to measure.
   *
   * @param points the points of each axis, in the order of the run
   * @param endurance whether the endurance test runs at the end
   */
  record RunOptions(Map<Axis, List<Long>> points, boolean endurance) {

    /**
     * Parses the options.
     *
     * @param names the names of axes and {@code endurance}, separated by spaces or commas
     * @param points the points of the only axis; empty for the default points
     */
    static RunOptions parse(String names, String points) {
      var axes = new LinkedHashMap<Axis, List<Long>>();
      boolean endurance = false;
      for (var name : tokens(names)) {
        if (name.equals(ENDURANCE)) {
          endurance = true;
        } else {
          var axis = Axis.valueOf(name.toUpperCase(Locale.ROOT));
          axes.put(axis, axis.defaultPoints());
        }
      }
      if (!points.isBlank()) {
        if (axes.size() != 1) {
          throw new IllegalArgumentException("POINTS requires one axis, but AXES is: " + names);
        }
        var values = tokens(points).stream().map(Long::valueOf).sorted().toList();
        axes.replaceAll((_, _) -> values);
      }
      return new RunOptions(axes, endurance);
    }

    private static List<String> tokens(String text) {
      return List.of(text.strip().split("[\\s,]+"));
    }
  }

  public static void main(String[] arguments) throws Exception {
    Locale.setDefault(Locale.ROOT); // programs parse the report too
    var axes = "connections request bytes attributes templates shards table";
    var options = RunOptions.parse(Environment.text("AXES", axes), Environment.text("POINTS", ""));
    System.exit(new GrowthReport(options, WorkDir.create()).run() ? 0 : 1);
  }

  private boolean run() throws IOException, InterruptedException {
    System.out.println(WorkDir.describeMachine(folder));
    var out = Environment.text("OUT", "");
    for (var each : options.points.entrySet()) {
      var growth = measureAxis(each.getKey(), each.getValue());
      System.out.println("\n" + GrowthReportWriter.markdown(growth) + "\n");
      if (!out.isEmpty()) { // after each axis, because all axes take two hours
        new GrowthReportWriter(setup(describeDuration(each.getKey()))).write(Path.of(out), growth);
      }
    }
    if (options.endurance) {
      var soakTest = soak(Files.createDirectories(folder.resolve(ENDURANCE)));
      System.out.println("\n" + GrowthReportWriter.markdown(soakTest));
      if (!out.isEmpty()) {
        var duration = "%d minutes, after a warm-up of %d seconds".formatted(minutes, warmUp);
        new GrowthReportWriter(setup(duration)).write(Path.of(out), soakTest);
      }
    }
    if (complete) { // otherwise the logs in it show the reason
      WorkDir.delete(folder);
    }
    return complete;
  }

  private Growth measureAxis(Axis axis, List<Long> values)
      throws IOException, InterruptedException {
    var growth = new Growth(axis, new ArrayList<>(), new ArrayList<>());
    var groups =
        axis.needsFreshGateway()
            ? values.stream().map(List::of).toList()
            : List.of(List.copyOf(values));
    for (var each : groups) {
      var directory = Files.createDirectories(folder.resolve(axis.name() + each.getFirst()));
      measure(growth, each, directory);
      if (complete) {
        WorkDir.delete(directory);
      }
    }
    return growth;
  }

  /** Measures points that share one gateway. */
  private void measure(Growth growth, List<Long> values, Path directory)
      throws IOException, InterruptedException {
    var axis = growth.axis();
    var first = axis.pointAt(values.getFirst());
    try (var engines = new BenchEngines(directory, REDIS_MEMORY)) {
      versions = engines.versions();
      if (first.preloadedRows() > 0) {
        try (var _ = gateway(engines, first, directory)) {
          // creates the table
        }
        growth
            .notes()
            .add(PreloadedRows.load(engines.database(), first.preloadedRows()).toString());
      }
      try (var gateway = gateway(engines, first, directory)) {
        warmUp(
            axis.needsFreshGateway() ? first : Point.DEFAULT, warmUp, engines, gateway, directory);
        var measured = new TreeMap<Long, List<Growth.MeasuredPoint>>();
        for (int round = 0; round < roundsOf(axis); round++) {
          for (long value : values) {
            warmUp(axis.pointAt(value), LEAD_IN_SECONDS, engines, gateway, directory);
            measured
                .computeIfAbsent(value, _ -> new ArrayList<>())
                .add(measure(axis, value, engines, gateway, directory));
          }
        }
        measured.values().forEach(each -> growth.points().add(Growth.median(each)));
      }
    }
  }

  private static Gateway gateway(BenchEngines engines, Point point, Path directory)
      throws IOException, InterruptedException {
    var settings = new ArrayList<>(List.of(engines.settings()));
    settings.add("--sluice.redis.shards=" + point.shards());
    return new Gateway(directory.resolve("gateway"), settings.toArray(String[]::new));
  }

  private static void warmUp(
      Point point, int seconds, BenchEngines engines, Gateway gateway, Path directory)
      throws IOException, InterruptedException {
    var bodies = bodies(point, directory);
    var measurement = new Measurement(engines, gateway);
    var load = wrk(point, bodies, gateway).send(seconds);
    var caseResult = measurement.await(load, "warming up", point.logs());
    if (!caseResult.complete()) {
      throw new IOException("a log is lost or extra after the warm-up: " + caseResult);
    }
  }

  private Growth.MeasuredPoint measure(
      Axis axis, long value, BenchEngines engines, Gateway gateway, Path directory)
      throws IOException, InterruptedException {
    var point = axis.pointAt(value);
    var bodies = bodies(point, directory);
    var startMicros = InsertCpu.currentMicros(engines.database());
    var measurement = new Measurement(engines, gateway);
    var wrk = wrk(point, bodies, gateway);
    var fallbackSeconds = new AtomicInteger();
    var load =
        Sampler.sendSampled(
            () -> wrk.send(seconds),
            1,
            () -> fallbackSeconds.addAndGet((int) gateway.gauge("sluice_failover_active")));
    var caseResult = measurement.await(load, "%,d %s".formatted(value, axis.title), point.logs());
    System.out.println(ReportWriter.summaryLine(caseResult, null));
    complete &= caseResult.complete();
    double bytes = Files.size(bodies) / ((double) count(point) * point.logs());
    return new Growth.MeasuredPoint(
        value,
        bytes,
        caseResult,
        InsertCpu.measureSince(startMicros, engines.database()),
        fallbackSeconds.get());
  }

  private static LoadGenerator wrk(Point point, Path bodies, Gateway gateway) {
    var url = "http://127.0.0.1:" + gateway.port() + "/v1/logs";
    return new Wrk(
        url,
        bodies,
        BodyFormat.OTLP.contentType,
        BodyFormat.OTLP.contentEncoding,
        point.connections());
  }

  private static Path bodies(Point point, Path directory) throws IOException {
    return RequestBodies.writeBodies(
        directory, BodyFormat.OTLP, count(point), point.logs(), point.shape());
  }

  /** Returns the number of bodies that fit into {@link #MAX_BODIES_BYTES}, by the size of one. */
  private static int count(Point point) {
    long size = new SyntheticLogs(0, point.logs(), 0, point.shape()).otlp(point.logs()).length;
    return (int) Math.clamp(MAX_BODIES_BYTES / size, 1, MAX_BODIES);
  }

  private SoakTest soak(Path directory) throws IOException, InterruptedException {
    var point = Point.DEFAULT;
    try (var engines = new BenchEngines(directory, REDIS_MEMORY);
        var gateway = gateway(engines, point, directory)) {
      versions = engines.versions();
      warmUp(point, warmUp, engines, gateway, directory);
      double logsPerSecond =
          rate > 0 ? rate : SOAK_LOAD_SHARE * maxStorableRate(engines, gateway, directory);
      var url = "http://127.0.0.1:" + gateway.port() + "/v1/logs";
      var targets =
          RequestBodies.writeVegetaTargets(
              directory, url, BodyFormat.OTLP, count(point), point.logs());
      var vegeta = new Vegeta(targets, logsPerSecond / point.logs(), point.connections());
      var soakTest = new SoakRun(engines, gateway).run(vegeta, minutes, point.logs());
      complete &= soakTest.caseResult().complete();
      return soakTest;
    }
  }

  /** Measures the maximum rate in logs per second. */
  private double maxStorableRate(BenchEngines engines, Gateway gateway, Path directory)
      throws IOException, InterruptedException {
    var point = Point.DEFAULT;
    var bodies = bodies(point, directory);
    var measurement = new Measurement(engines, gateway);
    var load = wrk(point, bodies, gateway).send(seconds);
    var caseResult = measurement.await(load, "maximum rate", point.logs());
    System.out.println(ReportWriter.summaryLine(caseResult, null));
    complete &= caseResult.complete();
    return Math.min(caseResult.acceptedPerSecond(), caseResult.storedPerSecond());
  }

  private Map<String, String> setup(String duration) throws IOException {
    var setup = new LinkedHashMap<String, String>();
    setup.put("machine", WorkDir.describeMachine(folder));
    setup.put(
        "gateway",
        Environment.text("COMMIT", "unknown") + ", " + String.join(" ", JavaProcess.options()));
    setup.put("engines", versions);
    setup.put("load generators", Environment.text("GENERATORS", "unknown"));
    setup.put("duration", duration);
    setup.put(
        "default load", "OTLP/HTTP, 8 connections, 500 logs per request, 1 shard, empty table");
    return setup;
  }

  /**
   * Returns the number of rounds; the table axis has one, because the table grows with each round.
   */
  private int roundsOf(Axis axis) {
    return axis == Axis.TABLE ? 1 : rounds;
  }

  private String describeDuration(Axis axis) {
    return "%d seconds per point, after a warm-up of %d and a lead-in of %d with the point's load%s"
        .formatted(
            seconds,
            warmUp,
            LEAD_IN_SECONDS,
            roundsOf(axis) == 1
                ? ""
                : "; %d rounds, of which the median by the CPU of gateway and Redis is shown"
                    .formatted(roundsOf(axis)));
  }
}
