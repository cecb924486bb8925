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
 * On what does the cost of a log depend, and does anything grow while a gateway works for minutes?
 * Along each {@link Axis} one thing is changed and all others stay. The points of an axis are
 * measured one after the other on one gateway and its engines, warmed up once, where that is
 * honest; a number of shards or a large table need their own. Before each point the machine has
 * stored and merged what came before, and seen a little of what comes, so that no point pays for
 * what is new to it. And what is measured first costs more all the same, be it for code that is
 * still being compiled or for memory that is touched for the first time: so all points are measured
 * in turns, and the middle one of each counts.
 *
 * <p>Run by {@code make bench-growth}; in the environment {@code AXES}, names of axes and {@code
 * endurance}, {@code POINTS} in place of an axis' own where there is but one, {@code SECONDS_EACH},
 * 10 by default, {@code WARM_UP}, 30, {@code ROUNDS} of all points that share a gateway, 3, {@code
 * MINUTES} of endurance, 10, {@code RATE} of it in logs a second when it is not to have its share
 * of what could be stored, {@code OUT}, a folder for the report, and {@code JAVA_OPTS}. Ends with
 * status 1 when a log is lost or extra.
 */
public final class GrowthReport {
  private static final String ENDURANCE = "endurance";

  /**
   * Of what can be stored for some seconds: by then hardly any row has been merged, which costs as
   * much as its insert, and the generator that sends at a rate costs more than the one that waits.
   * At 0.8 merges did not keep up, and there were 27 parts more each minute.
   */
  private static final double SOAK_LOAD_SHARE = 0.6;

  private static final int LEAD_IN_SECONDS = 2;

  /** Of all that is sent in turns; the generators have it in memory. */
  private static final long MAX_BODIES_BYTES = 192L << 20;

  /** As many strings more would be a load on the generator, and on the machine. */
  private static final long MAX_BODIES = 250_000;

  /** Of the spool: a long body fills the usual one in seconds, and what is refused costs too. */
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
   * What to measure.
   *
   * @param points of each axis, in their order
   * @param endurance at the end
   */
  record RunOptions(Map<Axis, List<Long>> points, boolean endurance) {

    /**
     * @param points empty for the usual ones
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
          throw new IllegalArgumentException("POINTS are of one axis, not of: " + names);
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
    Locale.setDefault(Locale.ROOT); // what is written is read by programs too
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
      if (!out.isEmpty()) { // after each, since all of them take two hours
        new GrowthReportWriter(setup(describeDuration(each.getKey()))).write(Path.of(out), growth);
      }
    }
    if (options.endurance) {
      var soakTest = soak(Files.createDirectories(folder.resolve(ENDURANCE)));
      System.out.println("\n" + GrowthReportWriter.markdown(soakTest));
      if (!out.isEmpty()) {
        var lasting = "%d minutes, after %d seconds of warming up".formatted(minutes, warmUp);
        new GrowthReportWriter(setup(lasting)).write(Path.of(out), soakTest);
      }
    }
    if (complete) { // else what is there says why
      WorkDir.delete(folder);
    }
    return complete;
  }

  private Growth measureAxis(Axis axis, List<Long> values)
      throws IOException, InterruptedException {
    var growth = new Growth(axis, new ArrayList<>(), new ArrayList<>());
    var together =
        axis.needsFreshGateway()
            ? values.stream().map(List::of).toList()
            : List.of(List.copyOf(values));
    for (var each : together) {
      var directory = Files.createDirectories(folder.resolve(axis.name() + each.getFirst()));
      measure(growth, each, directory);
      if (complete) {
        WorkDir.delete(directory);
      }
    }
    return growth;
  }

  /** On one gateway. */
  private void measure(Growth growth, List<Long> values, Path directory)
      throws IOException, InterruptedException {
    var axis = growth.axis();
    var first = axis.pointAt(values.getFirst());
    try (var engines = new BenchEngines(directory, REDIS_MEMORY)) {
      versions = engines.versions();
      if (first.preloadedRows() > 0) {
        try (var _ = gateway(engines, first, directory)) {
          // makes the table
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
      throw new IOException("a log is lost or extra already: " + caseResult);
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

  /** As many as there is room for, by the size of one. */
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

  /** Logs a second, as many as can be. */
  private double maxStorableRate(BenchEngines engines, Gateway gateway, Path directory)
      throws IOException, InterruptedException {
    var point = Point.DEFAULT;
    var bodies = bodies(point, directory);
    var measurement = new Measurement(engines, gateway);
    var load = wrk(point, bodies, gateway).send(seconds);
    var caseResult = measurement.await(load, "as much as can be stored", point.logs());
    System.out.println(ReportWriter.summaryLine(caseResult, null));
    complete &= caseResult.complete();
    return Math.min(caseResult.acceptedPerSecond(), caseResult.storedPerSecond());
  }

  private Map<String, String> setup(String lasting) throws IOException {
    var setup = new LinkedHashMap<String, String>();
    setup.put("machine", WorkDir.describeMachine(folder));
    setup.put(
        "gateway",
        Environment.text("COMMIT", "not known") + ", " + String.join(" ", JavaProcess.options()));
    setup.put("engines", versions);
    setup.put("load generators", Environment.text("GENERATORS", "not known"));
    setup.put("lasting", lasting);
    setup.put(
        "load, where it is not said",
        "OTLP/HTTP, 8 connections, 500 logs a request, 1 shard, empty table");
    return setup;
  }

  /** A second time the table has grown. */
  private int roundsOf(Axis axis) {
    return axis == Axis.TABLE ? 1 : rounds;
  }

  private String describeDuration(Axis axis) {
    return "%d seconds of each point, after %d of warming up and %d of what the point sends%s"
        .formatted(
            seconds,
            warmUp,
            LEAD_IN_SECONDS,
            roundsOf(axis) == 1
                ? ""
                : "; in %d turns, of which the middle one by the cost of gateway and Redis is told"
                    .formatted(roundsOf(axis)));
  }
}
