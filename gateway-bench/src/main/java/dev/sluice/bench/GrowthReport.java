package dev.sluice.bench;

import dev.sluice.bench.Axis.Point;
import dev.sluice.bench.Bodies.Form;
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
  private static final double SHARE = 0.6;

  private static final int LEAD_IN_SECONDS = 2;

  /** Of all that is sent in turns; the generators have it in memory. */
  private static final long BODIES_BYTES = 192L << 20;

  /** As many strings more would be a load on the generator, and on the machine. */
  private static final long MOST_BODIES = 250_000;

  /** Of the spool: a long body fills the usual one in seconds, and what is refused costs too. */
  private static final String REDIS_MEMORY = "4096mb";

  private final int seconds = Environment.number("SECONDS_EACH", 10);
  private final int warmUp = Environment.number("WARM_UP", 30);
  private final int rounds = Environment.number("ROUNDS", 3);
  private final int minutes = Environment.number("MINUTES", 10);
  private final int rate = Environment.number("RATE", 0);
  private final Asked asked;
  private final Path folder;
  private boolean complete = true;
  private String versions = "";

  private GrowthReport(Asked asked, Path folder) {
    this.asked = asked;
    this.folder = folder;
  }

  /**
   * What to measure.
   *
   * @param points of each axis, in their order
   * @param endurance at the end
   */
  record Asked(Map<Axis, List<Long>> points, boolean endurance) {

    /**
     * @param points empty for the usual ones
     */
    static Asked of(String names, String points) {
      var asked = new LinkedHashMap<Axis, List<Long>>();
      boolean endurance = false;
      for (var name : words(names)) {
        if (name.equals(ENDURANCE)) {
          endurance = true;
        } else {
          var axis = Axis.valueOf(name.toUpperCase(Locale.ROOT));
          asked.put(axis, axis.usual());
        }
      }
      if (!points.isBlank()) {
        if (asked.size() != 1) {
          throw new IllegalArgumentException("POINTS are of one axis, not of: " + names);
        }
        var own = words(points).stream().map(Long::valueOf).sorted().toList();
        asked.replaceAll((_, _) -> own);
      }
      return new Asked(asked, endurance);
    }

    private static List<String> words(String text) {
      return List.of(text.strip().split("[\\s,]+"));
    }
  }

  public static void main(String[] arguments) throws Exception {
    Locale.setDefault(Locale.ROOT); // what is written is read by programs too
    var axes = "connections request bytes attributes templates shards table";
    var asked = Asked.of(Environment.text("AXES", axes), Environment.text("POINTS", ""));
    System.exit(new GrowthReport(asked, Workplace.make()).run() ? 0 : 1);
  }

  private boolean run() throws IOException, InterruptedException {
    System.out.println(Workplace.machine(folder));
    var out = Environment.text("OUT", "");
    for (var each : asked.points.entrySet()) {
      var growth = along(each.getKey(), each.getValue());
      System.out.println("\n" + GrowthFindings.text(growth) + "\n");
      if (!out.isEmpty()) { // after each, since all of them take two hours
        new GrowthFindings(setup(perPoint(each.getKey()))).write(Path.of(out), growth);
      }
    }
    if (asked.endurance) {
      var endurance = endure(Files.createDirectories(folder.resolve(ENDURANCE)));
      System.out.println("\n" + GrowthFindings.text(endurance));
      if (!out.isEmpty()) {
        var lasting = "%d minutes, after %d seconds of warming up".formatted(minutes, warmUp);
        new GrowthFindings(setup(lasting)).write(Path.of(out), endurance);
      }
    }
    if (complete) { // else what is there says why
      Workplace.delete(folder);
    }
    return complete;
  }

  private Growth along(Axis axis, List<Long> values) throws IOException, InterruptedException {
    var growth = new Growth(axis, new ArrayList<>(), new ArrayList<>());
    var together =
        axis.fresh() ? values.stream().map(List::of).toList() : List.of(List.copyOf(values));
    for (var each : together) {
      var place = Files.createDirectories(folder.resolve(axis.name() + each.getFirst()));
      measure(growth, each, place);
      if (complete) {
        Workplace.delete(place);
      }
    }
    return growth;
  }

  /** On one gateway. */
  private void measure(Growth growth, List<Long> values, Path place)
      throws IOException, InterruptedException {
    var axis = growth.axis();
    var first = axis.at(values.getFirst());
    try (var engines = new Engines(place, REDIS_MEMORY)) {
      versions = engines.versions();
      if (first.oldRows() > 0) {
        try (var _ = gateway(engines, first, place)) {
          // makes the table
        }
        growth.notes().add(OldRows.make(engines.database(), first.oldRows()).toString());
      }
      try (var gateway = gateway(engines, first, place)) {
        warm(axis.fresh() ? first : Point.USUAL, warmUp, engines, gateway, place);
        var turns = new TreeMap<Long, List<Growth.Measured>>();
        for (int round = 0; round < turns(axis); round++) {
          for (long value : values) {
            warm(axis.at(value), LEAD_IN_SECONDS, engines, gateway, place);
            turns
                .computeIfAbsent(value, _ -> new ArrayList<>())
                .add(measure(axis, value, engines, gateway, place));
          }
        }
        turns.values().forEach(each -> growth.points().add(Growth.middle(each)));
      }
    }
  }

  private static Gateway gateway(Engines engines, Point point, Path place)
      throws IOException, InterruptedException {
    var settings = new ArrayList<>(List.of(engines.settings()));
    settings.add("--sluice.redis.shards=" + point.shards());
    return new Gateway(place.resolve("gateway"), settings.toArray(String[]::new));
  }

  private static void warm(Point point, int seconds, Engines engines, Gateway gateway, Path place)
      throws IOException, InterruptedException {
    var bodies = bodies(point, place);
    var measurement = new Measurement(engines, gateway);
    var load = wrk(point, bodies, gateway).send(seconds);
    var outcome = measurement.of(load, "warming up", point.logs());
    if (!outcome.complete()) {
      throw new IOException("a log is lost or extra already: " + outcome);
    }
  }

  private Growth.Measured measure(
      Axis axis, long value, Engines engines, Gateway gateway, Path place)
      throws IOException, InterruptedException {
    var point = axis.at(value);
    var bodies = bodies(point, place);
    var begun = Writing.now(engines.database());
    var measurement = new Measurement(engines, gateway);
    var wrk = wrk(point, bodies, gateway);
    var standIn = new AtomicInteger();
    var load =
        Meanwhile.sending(
            () -> wrk.send(seconds),
            1,
            () -> standIn.addAndGet((int) gateway.gauge("sluice_failover_active")));
    var outcome = measurement.of(load, "%,d %s".formatted(value, axis.title), point.logs());
    System.out.println(Findings.line(outcome, null));
    complete &= outcome.complete();
    double bytes = Files.size(bodies) / ((double) count(point) * point.logs());
    return new Growth.Measured(
        value, bytes, outcome, Writing.since(begun, engines.database()), standIn.get());
  }

  private static Generator wrk(Point point, Path bodies, Gateway gateway) {
    var url = "http://127.0.0.1:" + gateway.port() + "/v1/logs";
    return new Wrk(url, bodies, Form.OTLP.type, Form.OTLP.encoding, point.connections());
  }

  private static Path bodies(Point point, Path place) throws IOException {
    return Bodies.file(place, Form.OTLP, count(point), point.logs(), point.shape());
  }

  /** As many as there is room for, by the size of one. */
  private static int count(Point point) {
    long size = new Traffic(0, point.logs(), 0, point.shape()).otlp(point.logs()).length;
    return (int) Math.clamp(BODIES_BYTES / size, 1, MOST_BODIES);
  }

  private Endurance endure(Path place) throws IOException, InterruptedException {
    var point = Point.USUAL;
    try (var engines = new Engines(place, REDIS_MEMORY);
        var gateway = gateway(engines, point, place)) {
      versions = engines.versions();
      warm(point, warmUp, engines, gateway, place);
      double logsPerSecond = rate > 0 ? rate : SHARE * storable(engines, gateway, place);
      var url = "http://127.0.0.1:" + gateway.port() + "/v1/logs";
      var targets = Bodies.targets(place, url, Form.OTLP, count(point), point.logs());
      var vegeta = new Vegeta(targets, logsPerSecond / point.logs(), point.connections());
      var endurance = new EnduranceRun(engines, gateway).of(vegeta, minutes, point.logs());
      complete &= endurance.outcome().complete();
      return endurance;
    }
  }

  /** Logs a second, as many as can be. */
  private double storable(Engines engines, Gateway gateway, Path place)
      throws IOException, InterruptedException {
    var point = Point.USUAL;
    var bodies = bodies(point, place);
    var measurement = new Measurement(engines, gateway);
    var load = wrk(point, bodies, gateway).send(seconds);
    var outcome = measurement.of(load, "as much as can be stored", point.logs());
    System.out.println(Findings.line(outcome, null));
    complete &= outcome.complete();
    return Math.min(outcome.acceptedPerSecond(), outcome.storedPerSecond());
  }

  private Map<String, String> setup(String lasting) throws IOException {
    var setup = new LinkedHashMap<String, String>();
    setup.put("machine", Workplace.machine(folder));
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
  private int turns(Axis axis) {
    return axis == Axis.TABLE ? 1 : rounds;
  }

  private String perPoint(Axis axis) {
    return "%d seconds of each point, after %d of warming up and %d of what the point sends%s"
        .formatted(
            seconds,
            warmUp,
            LEAD_IN_SECONDS,
            turns(axis) == 1
                ? ""
                : "; in %d turns, of which the middle one by the cost of gateway and Redis is told"
                    .formatted(turns(axis)));
  }
}
