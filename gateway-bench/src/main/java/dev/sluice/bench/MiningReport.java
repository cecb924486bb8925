package dev.sluice.bench;

import dev.sluice.core.otlp.SampleLogs;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Executors;

/**
 * How much more does a log cost, from its request to its row, when a gateway tells each its
 * template? Two gateways, one with templates and one without, each on engines of its own, take in
 * and store the same logs at the same time. What counts is the CPU of a gateway and its engines for
 * one log, ClickHouse's merges among it: where all cores are in use, the rate is what they have
 * over what a log takes. To compare rates themselves, one after the other, a machine is needed that
 * nobody else uses; this way both are slowed down alike.
 *
 * <p>Run by {@code make bench-mining}; {@code SECONDS_EACH} and {@code ROUNDS} in the environment,
 * 10 and 5 by default. What a round costs depends on which merges are due in it, so the figure is
 * that of all rounds together. Ends with status 1 when less than nine tenths could be stored with
 * templates, or a log is missing.
 */
public final class MiningReport {
  private static final int LOGS = 500;
  private static final int BODIES = 512;
  private static final int SENDERS = 8;
  private static final int WARM_UP_SECONDS = 20;
  private static final double MIN_RATIO = 0.9;
  private static final String LINE = "%-12s %12s %14s %14s %14s%n";

  private final List<byte[]> bodies = bodies();
  private final int seconds;

  private MiningReport(int seconds) {
    this.seconds = seconds;
  }

  /**
   * What one of the two has done.
   *
   * @param logs acknowledged, and stored
   * @param seconds until the last of them was
   * @param gatewayCpuSeconds seconds of CPU
   * @param totalCpuSeconds seconds of CPU, with Redis and ClickHouse
   */
  private record RoundResult(
      long logs, double seconds, double gatewayCpuSeconds, double totalCpuSeconds) {
    static final RoundResult NONE = new RoundResult(0, 0, 0, 0);

    RoundResult plus(RoundResult other) {
      return new RoundResult(
          logs + other.logs,
          seconds + other.seconds,
          gatewayCpuSeconds + other.gatewayCpuSeconds,
          totalCpuSeconds + other.totalCpuSeconds);
    }

    double micros() {
      return totalCpuSeconds * 1e6 / logs;
    }

    void print(String name) {
      System.out.printf(
          LINE,
          name,
          "%,d".formatted(logs),
          "%,.0f".formatted(logs / seconds),
          "%.2f".formatted(gatewayCpuSeconds * 1e6 / logs),
          "%.2f".formatted(micros()));
    }
  }

  /** One of the two, and what was sent to it. */
  private static final class MeasuredGateway implements AutoCloseable {
    private final String name;
    private final Path folder = WorkDir.create();
    private final Gateway gateway;
    private final Sender sender;
    private long acknowledged;

    MeasuredGateway(boolean templates, List<byte[]> bodies)
        throws IOException, InterruptedException {
      name = templates ? "on" : "off";
      gateway =
          new Gateway(
              folder,
              "--sluice.templates.enabled=" + templates,
              "--sluice.engines.clickhouse.http-port=0",
              "--sluice.engines.clickhouse.tcp-port=0",
              "--sluice.engines.redis.port=0",
              "--sluice.engines.cache-dir=" + Path.of(".cache/sluice").toAbsolutePath());
      sender = new Sender(gateway.port(), bodies, "");
    }

    /** Sends for so long, and waits until all is stored, merged, and quiet. */
    RoundResult runRound(int seconds) throws IOException, InterruptedException {
      double gatewayBefore = gateway.processStats().cpuSeconds();
      double totalBefore = gateway.processStatsWithEngines().cpuSeconds();
      long begun = System.nanoTime();
      long logs = sender.send(SENDERS, seconds, 0).succeeded() * LOGS;
      acknowledged += logs;
      double took = (gateway.awaitDrained().nanos() - begun) / 1e9;
      WorkDir.awaitIdle();
      return new RoundResult(
          logs,
          took,
          gateway.processStats().cpuSeconds() - gatewayBefore,
          gateway.processStatsWithEngines().cpuSeconds() - totalBefore);
    }

    /** What was stored without an answer is more than was acknowledged. */
    boolean complete() throws IOException, InterruptedException {
      var ledger = gateway.ledger();
      long stored = ledger.path("stored").asLong();
      long imbalance = ledger.path("imbalance").asLong();
      boolean complete = stored >= acknowledged && imbalance == 0;
      if (!complete) {
        System.out.printf(
            "%s: %,d logs acknowledged, %,d stored, imbalance %d%n",
            name, acknowledged, stored, imbalance);
      }
      return complete;
    }

    @Override
    public void close() {
      gateway.close();
    }
  }

  public static void main(String[] arguments) throws Exception {
    int seconds = Integer.parseInt(System.getenv().getOrDefault("SECONDS_EACH", "10"));
    int rounds = Integer.parseInt(System.getenv().getOrDefault("ROUNDS", "5"));
    System.exit(new MiningReport(seconds).run(Math.max(1, rounds)) ? 0 : 1);
  }

  private boolean run(int rounds) throws Exception {
    var with = RoundResult.NONE;
    var without = RoundResult.NONE;
    var folders = new ArrayList<Path>();
    boolean complete;
    try (var off = new MeasuredGateway(false, bodies);
        var on = new MeasuredGateway(true, bodies);
        var other = Executors.newSingleThreadExecutor()) {
      folders.addAll(List.of(off.folder, on.folder));
      System.out.println(WorkDir.describeMachine(off.folder));
      System.out.printf(LINE, "templates", "logs", "stored/s", "gateway us/log", "in all us/log");
      for (int round = -1; round < rounds; round++) {
        int each = round < 0 ? WARM_UP_SECONDS : seconds;
        var offTurn = other.submit(() -> off.runRound(each));
        var onTurn = on.runRound(each);
        if (round >= 0) {
          offTurn.get().print("off");
          onTurn.print("on");
          without = without.plus(offTurn.get());
          with = with.plus(onTurn);
        } else {
          offTurn.get();
        }
      }
      complete = off.complete();
      complete &= on.complete();
    }
    if (complete) { // else they say why
      for (var folder : folders) {
        WorkDir.delete(folder);
      }
    }
    without.print("all, off");
    with.print("all, on");
    double ratio = without.micros() / with.micros();
    System.out.printf("with / without: %.3f (at least %.2f is wanted)%n", ratio, MIN_RATIO);
    return complete && ratio >= MIN_RATIO;
  }

  private static List<byte[]> bodies() {
    var random = new Random(42);
    var bodies = new byte[BODIES][];
    Arrays.setAll(bodies, _ -> SampleLogs.body(random, LOGS));
    return List.of(bodies);
  }
}
