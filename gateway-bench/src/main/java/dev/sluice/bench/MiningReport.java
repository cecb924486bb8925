package dev.sluice.bench;

import dev.sluice.core.otlp.SampleLogs;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/**
 * How much does a gateway store, from the first request to the last row, when it tells each log its
 * template, and how much when it does not? Two gateways in turn, each on new engines of its own,
 * warmed up and then measured; several rounds, since one run says little on a machine that others
 * share.
 *
 * <p>Run by {@code make bench-mining}; {@code SECONDS_EACH} and {@code ROUNDS} in the environment,
 * 20 and 2 by default. Ends with status 1 when less than nine tenths are stored with templates, or
 * a log is missing.
 */
public final class MiningReport {
  private static final int LOGS = 500;
  private static final int BODIES = 512;
  private static final int SENDERS = 16;
  private static final double WANTED = 0.9;
  private static final String LINE = "%-12s %12s %12s %14s %14s%n";

  private final List<byte[]> bodies = bodies();
  private final int seconds;

  private MiningReport(int seconds) {
    this.seconds = seconds;
  }

  /**
   * @param perSecond logs stored, end to end
   * @param complete whether all that were acknowledged are there
   */
  private record Run(double perSecond, boolean complete) {}

  public static void main(String[] arguments) throws Exception {
    int seconds = Integer.parseInt(System.getenv().getOrDefault("SECONDS_EACH", "20"));
    int rounds = Integer.parseInt(System.getenv().getOrDefault("ROUNDS", "2"));
    System.exit(new MiningReport(seconds).run(rounds) ? 0 : 1);
  }

  private boolean run(int rounds) throws IOException, InterruptedException {
    var off = new ArrayList<Run>();
    var on = new ArrayList<Run>();
    for (int round = 0; round < rounds; round++) {
      off.add(measured(false, round == 0));
      on.add(measured(true, false));
    }
    double ratio = mean(on) / mean(off);
    System.out.printf("with / without: %.2f (at least %.2f is wanted)%n", ratio, WANTED);
    return ratio >= WANTED
        && off.stream().allMatch(Run::complete)
        && on.stream().allMatch(Run::complete);
  }

  private static double mean(List<Run> runs) {
    return runs.stream().mapToDouble(Run::perSecond).average().orElseThrow();
  }

  private Run measured(boolean templates, boolean first) throws IOException, InterruptedException {
    var folder = Workplace.make();
    if (first) {
      System.out.println(Workplace.machine(folder));
      System.out.printf(
          LINE, "templates", "accepted/s", "stored/s", "CPU us/log", "machine us/log");
    }
    Run run;
    try (var gateway =
        new Gateway(
            folder,
            "--sluice.templates.enabled=" + templates,
            "--sluice.embedded.clickhouse.http-port=0",
            "--sluice.embedded.clickhouse.tcp-port=0",
            "--sluice.embedded.redis.port=0",
            "--sluice.embedded.cache=" + Path.of(".cache/sluice").toAbsolutePath())) {
      run = measured(gateway, templates ? "on" : "off");
    }
    Workplace.delete(folder);
    return run;
  }

  private Run measured(Gateway gateway, String name) throws IOException, InterruptedException {
    var sender = new Sender(gateway.port(), bodies, "");
    long sent = sender.send(SENDERS, seconds, 0).taken() * LOGS;
    var _ = gateway.awaitDrained();
    Workplace.awaitQuiet();
    var watched = gateway.watched();
    double cpu = watched.counters().cpuSeconds();
    double machine = Workplace.busySeconds();
    long begun = System.nanoTime();
    var measured = sender.send(SENDERS, seconds, 0);
    long logs = measured.taken() * LOGS;
    double took = (gateway.awaitDrained().nanos() - begun) / 1e9;
    cpu = watched.counters().cpuSeconds() - cpu;
    machine = Workplace.busySeconds() - machine;
    System.out.printf(
        LINE,
        name,
        "%,.0f".formatted(logs / measured.seconds()),
        "%,.0f".formatted(logs / took),
        "%.2f".formatted(cpu * 1e6 / logs),
        "%.2f".formatted(machine * 1e6 / logs));
    return new Run(logs / took, complete(gateway, sent + logs));
  }

  /** What was stored without an answer is more than was acknowledged. */
  private static boolean complete(Gateway gateway, long acknowledged)
      throws IOException, InterruptedException {
    var ledger = gateway.ledger();
    long stored = ledger.path("stored").asLong();
    long imbalance = ledger.path("imbalance").asLong();
    boolean complete = stored >= acknowledged && imbalance == 0;
    if (!complete) {
      System.out.printf(
          "%,d logs acknowledged, %,d stored, imbalance %d%n", acknowledged, stored, imbalance);
    }
    return complete;
  }

  private static List<byte[]> bodies() {
    var random = new Random(42);
    var bodies = new byte[BODIES][];
    Arrays.setAll(bodies, _ -> SampleLogs.body(random, LOGS));
    return List.of(bodies);
  }
}
