package dev.sluice.bench;

import dev.sluice.bench.Bodies.Form;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * On what does a gateway at full rate spend its CPU, and on what did an earlier one? Each takes in
 * the same, with engines of its own on the same machine, and is sampled by the JDK's flight
 * recorder once it is warm.
 *
 * <p>Run by {@code make bench-profile}; in the environment {@code SECONDS_EACH}, 20 by default,
 * {@code WARM_UP}, 40, {@code BEFORE}, the jar of an earlier gateway and {@code BEFORE_COMMIT},
 * what it was built from, {@code OUT}, a folder for the report, and {@code JAVA_OPTS}. Ends with
 * status 1 when a log is lost or extra.
 */
public final class ProfileReport {
  private static final int TOP = 10;

  /** How much CPU between two samples. */
  private static final String PERIOD = "2ms";

  /** Reactor's stacks are deep, and what is cut off is their beginning. */
  private static final int STACK = 512;

  private final int seconds = Environment.number("SECONDS_EACH", 20);
  private final int warmUp = Environment.number("WARM_UP", 40);
  private final List<Finding> findings = new ArrayList<>();

  private ProfileReport() {}

  /** A way in. */
  private enum Case {
    OTLP("OTLP/HTTP, 500 a request", "/v1/logs", Form.OTLP, 2048, 500, 8),
    JSON("JSON, an object a request", "/api/v1/logs", Form.JSON, 100_000, 1, 64);

    final String title;
    private final String path;
    private final Form form;
    private final int bodies;
    final int logs;
    private final int connections;

    Case(String title, String path, Form form, int bodies, int logs, int connections) {
      this.title = title;
      this.path = path;
      this.form = form;
      this.bodies = bodies;
      this.logs = logs;
      this.connections = connections;
    }

    Generator generator(Gateway gateway, Path place) throws IOException {
      return new Wrk(
          "http://127.0.0.1:" + gateway.port() + path,
          Bodies.file(place, form, bodies, logs),
          form.type,
          form.encoding,
          connections);
    }
  }

  /**
   * @param which gateway
   */
  private record Finding(String which, Case of, Outcome outcome, Profile profile) {
    String image() {
      return "profile-%s-%s.svg".formatted(which, of.name().toLowerCase(Locale.ROOT));
    }
  }

  public static void main(String[] arguments) throws Exception {
    Locale.setDefault(Locale.ROOT); // what is written is read by programs too
    System.exit(new ProfileReport().run() ? 0 : 1);
  }

  private boolean run() throws IOException, InterruptedException {
    var folder = Workplace.make();
    var before = Environment.text("BEFORE", "");
    for (var each : Case.values()) {
      if (!before.isEmpty()) {
        measure("before", Path.of(before), each, folder);
      }
      measure("now", Gateway.JAR, each, folder);
    }
    var text = text(folder);
    System.out.println(text);
    var out = Environment.text("OUT", "");
    if (!out.isEmpty()) {
      var place = Files.createDirectories(Path.of(out));
      Files.writeString(place.resolve("profile.md"), text);
      for (var each : findings) {
        var graph = new FlameGraph(each.of.title + ", " + each.which, each.profile);
        Files.writeString(place.resolve(each.image()), graph.svg());
      }
    }
    boolean complete = findings.stream().allMatch(each -> each.outcome.complete());
    if (complete) { // else what is there says why
      Workplace.delete(folder);
    }
    return complete;
  }

  private void measure(String which, Path jar, Case of, Path folder)
      throws IOException, InterruptedException {
    var place = Files.createDirectories(folder.resolve(which + of.name()));
    try (var engines = new Engines(place, "1024mb");
        var gateway = new Gateway(jar, place.resolve("gateway"), engines.settings())) {
      var generator = of.generator(gateway, place);
      var cold = new Measurement(engines, gateway);
      if (!cold.of(generator.send(warmUp), "warming up", of.logs).complete()) {
        throw new IOException("a log is lost or extra already");
      }
      var recording = place.resolve("recording.jfr");
      tell(gateway, "JFR.configure", "stackdepth=" + STACK);
      tell(
          gateway,
          "JFR.start",
          "name=profile",
          "settings=none",
          "+" + Profile.SAMPLE + "#enabled=true",
          "+" + Profile.SAMPLE + "#throttle=" + PERIOD,
          "+" + Profile.LOST + "#enabled=true");
      var measurement = new Measurement(engines, gateway);
      var load = generator.send(seconds);
      tell(gateway, "JFR.stop", "name=profile", "filename=" + recording);
      var outcome = measurement.of(load, of.title + ", " + which, of.logs);
      System.out.println(Findings.line(outcome, null));
      findings.add(new Finding(which, of, outcome, Profile.read(recording)));
    }
  }

  private static void tell(Gateway gateway, String... command)
      throws IOException, InterruptedException {
    var all = new ArrayList<String>();
    all.add(Path.of(System.getProperty("java.home"), "bin", "jcmd").toString());
    all.add(Long.toString(gateway.pid()));
    all.addAll(List.of(command));
    Generator.run(Map.of(), all);
  }

  private String text(Path folder) throws IOException {
    var text =
        new StringBuilder("# Where the gateway's CPU goes\n\nWritten by `make bench-profile`.\n\n");
    text.append("- machine: ").append(Workplace.machine(folder)).append('\n');
    text.append("- now: ").append(Environment.text("COMMIT", "not known"));
    text.append(", ").append(String.join(" ", JavaProcess.options())).append('\n');
    var before = Environment.text("BEFORE_COMMIT", "");
    if (!before.isEmpty()) {
      text.append("- before: ").append(before).append(", with the same options\n");
    }
    text.append("- sampled: once in ").append(PERIOD).append(" of CPU, for ").append(seconds);
    text.append(" seconds after ").append(warmUp).append(" of warming up\n\n");
    text.append(
        """
        Sampled are Java's threads. What the kernel and native code do for a method counts as that method's; the
        collector and the compiler are not in it, but in the µs for a log, as the sampling is. In the pictures a box of ours is a method,
        one of a library a run of its methods.
        """);
    for (var each : findings) {
      text.append("\n## ").append(each.of.title).append(", ").append(each.which).append("\n\n");
      var outcome = each.outcome;
      text.append(
          "%,.0f logs/s accepted, %,.0f stored; µs of CPU for a log: gateway %.2f, Redis %.2f, ClickHouse %.2f.\n\n"
              .formatted(
                  outcome.acceptedPerSecond(),
                  outcome.storedPerSecond(),
                  outcome.cost("gateway").stored(),
                  outcome.cost("Redis").stored(),
                  outcome.cost("ClickHouse").stored()));
      text.append("![flame graph](").append(each.image()).append(")\n\n");
      text.append(
          "Of the samples %.1f %% could not be taken.\n\n".formatted(each.profile.lost() * 100));
      table(text, "frame", each.profile.frames());
      table(text, "whose", each.profile.libraries());
    }
    return text.toString();
  }

  private static void table(StringBuilder text, String title, List<Profile.Share> shares) {
    text.append("| ").append(title).append(" | % |\n|---|---|\n");
    for (var each : shares.subList(0, Math.min(TOP, shares.size()))) {
      text.append("| `%s` | %.1f |\n".formatted(each.name(), each.part() * 100));
    }
    text.append('\n');
  }
}
