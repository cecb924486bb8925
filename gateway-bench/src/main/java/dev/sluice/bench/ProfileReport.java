package dev.sluice.bench;

import dev.sluice.bench.RequestBodies.BodyFormat;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The profile report: the CPU of a gateway at full rate by method, beside an earlier build. Both
 * builds receive the same load, with engines of their own on the same machine, and are sampled by
 * JDK Flight Recorder after a warm-up.
 *
 * <p>Run by {@code make bench-profile}. Environment variables: {@code SECONDS_EACH}, 20 by default;
 * {@code WARM_UP}, 40; {@code BEFORE}, the jar of an earlier gateway; {@code BEFORE_COMMIT}, the
 * commit of that jar; {@code OUT}, the directory of the report; and {@code JAVA_OPTS}. The exit
 * status is 1 when a log is lost or extra.
 */
public final class ProfileReport {
  private static final int TOP = 10;

  /** The CPU time between two samples of a thread. */
  private static final String SAMPLING_PERIOD = "2ms";

  /**
   * The maximum depth of a stack. Reactor's stacks are deep, and JFR cuts off their outermost
   * frames.
   */
  private static final int STACK_DEPTH = 512;

  private final int seconds = Environment.number("SECONDS_EACH", 20);
  private final int warmUp = Environment.number("WARM_UP", 40);
  private final List<CaseProfile> profiles = new ArrayList<>();

  private ProfileReport() {}

  /** The protocols that are profiled. */
  private enum ProfiledCase {
    OTLP("OTLP/HTTP, 500 logs per request", "/v1/logs", BodyFormat.OTLP, 2048, 500, 8),
    JSON("JSON, one object per request", "/api/v1/logs", BodyFormat.JSON, 100_000, 1, 64);

    final String title;
    private final String path;
    private final BodyFormat form;
    private final int bodies;
    final int logs;
    private final int connections;

    ProfiledCase(
        String title, String path, BodyFormat form, int bodies, int logs, int connections) {
      this.title = title;
      this.path = path;
      this.form = form;
      this.bodies = bodies;
      this.logs = logs;
      this.connections = connections;
    }

    LoadGenerator generator(Gateway gateway, Path directory) throws IOException {
      var url = "http://127.0.0.1:" + gateway.port() + path;
      return Wrk.of(url, directory, form, bodies, logs, 0, connections);
    }
  }

  /**
   * The profile of one case.
   *
   * @param version the build of the gateway: {@code now} or {@code before}
   */
  private record CaseProfile(
      String version, ProfiledCase benchmarkCase, CaseResult caseResult, Profile profile) {
    String image() {
      return "profile-%s-%s.svg".formatted(version, benchmarkCase.name().toLowerCase(Locale.ROOT));
    }
  }

  public static void main(String[] arguments) throws Exception {
    Locale.setDefault(Locale.ROOT); // programs parse the report too
    System.exit(new ProfileReport().run() ? 0 : 1);
  }

  private boolean run() throws IOException, InterruptedException {
    var folder = WorkDir.create();
    var before = Environment.text("BEFORE", "");
    for (var each : ProfiledCase.values()) {
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
      for (var each : profiles) {
        var graph = new FlameGraph(each.benchmarkCase.title + ", " + each.version, each.profile);
        Files.writeString(place.resolve(each.image()), graph.svg());
      }
    }
    boolean complete = profiles.stream().allMatch(each -> each.caseResult.complete());
    if (complete) { // otherwise the logs in it show the reason
      WorkDir.delete(folder);
    }
    return complete;
  }

  private void measure(String version, Path jar, ProfiledCase benchmarkCase, Path folder)
      throws IOException, InterruptedException {
    var directory = Files.createDirectories(folder.resolve(version + benchmarkCase.name()));
    try (var engines = new BenchEngines(directory, "1024mb");
        var gateway = new Gateway(jar, directory.resolve("gateway"), engines.settings())) {
      var generator = benchmarkCase.generator(gateway, directory);
      var cold = new Measurement(engines, gateway);
      if (!cold.await(generator.send(warmUp), "warming up", benchmarkCase.logs).complete()) {
        throw new IOException("a log is lost or extra after the warm-up");
      }
      var recording = directory.resolve("recording.jfr");
      jcmd(gateway, "JFR.configure", "stackdepth=" + STACK_DEPTH);
      jcmd(
          gateway,
          "JFR.start",
          "name=profile",
          "settings=none",
          "+" + Profile.SAMPLE + "#enabled=true",
          "+" + Profile.SAMPLE + "#throttle=" + SAMPLING_PERIOD,
          "+" + Profile.LOST_SAMPLES + "#enabled=true");
      var measurement = new Measurement(engines, gateway);
      var load = generator.send(seconds);
      jcmd(gateway, "JFR.stop", "name=profile", "filename=" + recording);
      var caseResult =
          measurement.await(load, benchmarkCase.title + ", " + version, benchmarkCase.logs);
      System.out.println(ReportWriter.summaryLine(caseResult, null));
      profiles.add(new CaseProfile(version, benchmarkCase, caseResult, Profile.read(recording)));
    }
  }

  private static void jcmd(Gateway gateway, String... command)
      throws IOException, InterruptedException {
    var all = new ArrayList<String>();
    all.add(Path.of(System.getProperty("java.home"), "bin", "jcmd").toString());
    all.add(Long.toString(gateway.pid()));
    all.addAll(List.of(command));
    LoadGenerator.run(Map.of(), all);
  }

  private String text(Path folder) throws IOException {
    var text =
        new StringBuilder(
            "# Profile: the CPU of the gateway\n\nWritten by `make bench-profile`.\n\n");
    text.append("- machine: ").append(WorkDir.describeMachine(folder)).append('\n');
    text.append("- now: ").append(Environment.text("COMMIT", "unknown"));
    text.append(", ").append(String.join(" ", JavaProcess.options())).append('\n');
    var before = Environment.text("BEFORE_COMMIT", "");
    if (!before.isEmpty()) {
      text.append("- before: ").append(before).append(", with the same options\n");
    }
    text.append("- samples: one per ")
        .append(SAMPLING_PERIOD)
        .append(" of CPU, for ")
        .append(seconds);
    text.append(" seconds after a warm-up of ").append(warmUp).append("\n\n");
    text.append(
        """
        JFR samples the Java threads. The CPU of the kernel and of native code counts for the method that called them. The threads of
        the garbage collector and the compiler have no samples; the CPU per log includes them, and the cost of sampling.
        In the flame graphs a box is one method of Sluice, or consecutive methods of one library.
        Class names are those of the profiled build.
        """);
    for (var each : profiles) {
      text.append("\n## ")
          .append(each.benchmarkCase.title)
          .append(", ")
          .append(each.version)
          .append("\n\n");
      var caseResult = each.caseResult;
      text.append(
          "%,.0f logs/s accepted, %,.0f stored; CPU µs/log: gateway %.2f, Redis %.2f, ClickHouse %.2f.\n\n"
              .formatted(
                  caseResult.acceptedPerSecond(),
                  caseResult.storedPerSecond(),
                  caseResult.cost("gateway").stored(),
                  caseResult.cost("Redis").stored(),
                  caseResult.cost("ClickHouse").stored()));
      text.append("![flame graph](").append(each.image()).append(")\n\n");
      text.append(
          "%.1f %% of the samples were lost.\n\n".formatted(each.profile.lostShare() * 100));
      table(text, "method", each.profile.frames());
      table(text, "library", each.profile.libraries());
    }
    return text.toString();
  }

  private static void table(StringBuilder text, String title, List<Profile.Share> shares) {
    text.append("| ").append(title).append(" | % |\n|---|---|\n");
    for (var each : shares.subList(0, Math.min(TOP, shares.size()))) {
      text.append("| `%s` | %.1f |\n".formatted(each.name(), each.fraction() * 100));
    }
    text.append('\n');
  }
}
