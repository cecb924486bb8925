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
 * The mining report: the additional cost of a log, from request to row, when a gateway assigns its
 * template. Two gateways, one with templates and one without, each with engines of its own, receive
 * and store the same logs concurrently. The result is the CPU of a gateway and its engines per log,
 * including ClickHouse's merges: on a saturated machine the rate is the available CPU divided by
 * the CPU per log. A comparison of rates measured one after the other needs an otherwise idle
 * machine; in a concurrent run, other load slows both gateways alike.
 *
 * <p>Run by {@code make bench-mining}. Environment variables: {@code SECONDS_EACH}, 10 by default,
 * and {@code ROUNDS}, 5. The cost of a round depends on the merges during it, so the result is that
 * of all rounds together. The exit status is 1 when the rate with templates is below nine tenths of
 * the rate without, or a log is missing.
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
   * The result of one gateway in one round.
   *
   * @param logs the number of logs that were acknowledged and stored
   * @param seconds the seconds until the last log was stored
   * @param gatewayCpuSeconds the CPU seconds of the gateway
   * @param totalCpuSeconds the CPU seconds of the gateway, Redis and ClickHouse
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

  /** One of the two gateways, with its sender. */
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

    /**
     * Sends for the given seconds, and waits until all logs are stored and merged and the machine
     * is idle.
     */
    RoundResult runRound(int seconds) throws IOException, InterruptedException {
      double gatewayBefore = gateway.processStats().cpuSeconds();
      double totalBefore = gateway.processStatsWithEngines().cpuSeconds();
      long startNanos = System.nanoTime();
      long logs = sender.send(SENDERS, seconds, 0).succeeded() * LOGS;
      acknowledged += logs;
      double drainSeconds = (gateway.awaitDrained().nanos() - startNanos) / 1e9;
      WorkDir.awaitIdle();
      return new RoundResult(
          logs,
          drainSeconds,
          gateway.processStats().cpuSeconds() - gatewayBefore,
          gateway.processStatsWithEngines().cpuSeconds() - totalBefore);
    }

    /**
     * Whether all acknowledged logs are stored. Logs that were stored without a response come on
     * top.
     */
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
      System.out.printf(LINE, "templates", "logs", "stored/s", "gateway us/log", "total us/log");
      for (int round = -1; round < rounds; round++) {
        int each = round < 0 ? WARM_UP_SECONDS : seconds;
        var offResult = other.submit(() -> off.runRound(each));
        var onResult = on.runRound(each);
        if (round >= 0) {
          offResult.get().print("off");
          onResult.print("on");
          without = without.plus(offResult.get());
          with = with.plus(onResult);
        } else {
          offResult.get();
        }
      }
      complete = off.complete();
      complete &= on.complete();
    }
    if (complete) { // otherwise the logs in them show the reason
      for (var folder : folders) {
        WorkDir.delete(folder);
      }
    }
    without.print("all, off");
    with.print("all, on");
    double ratio = without.micros() / with.micros();
    System.out.printf("with / without: %.3f (target: at least %.2f)%n", ratio, MIN_RATIO);
    return complete && ratio >= MIN_RATIO;
  }

  private static List<byte[]> bodies() {
    var random = new Random(42);
    var bodies = new byte[BODIES][];
    Arrays.setAll(bodies, _ -> SampleLogs.body(random, LOGS));
    return List.of(bodies);
  }
}
