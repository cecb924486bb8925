package dev.sluice.bench;

import dev.sluice.core.otlp.SampleLogs;
import dev.sluice.engines.EmbeddedRedis;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * How much does a gateway take in at level {@code durable} with Redis, and how much once Redis is
 * gone for good? One gateway in one run: it is warmed up, measured, Redis is ended, and it is
 * warmed up and measured again. Then Redis comes back, and all that was acknowledged must be
 * stored.
 *
 * <p>A sender waits for its answer before it sends again. So few of them measure how long an answer
 * takes, with its share of a sync of the disk, and many how much the gateway can take: a gateway is
 * judged by the latter, and both are shown.
 *
 * <p>Run by {@code make bench-spool}; {@code SECONDS_EACH} in the environment, 20 by default. Ends
 * with status 1 when less than half is taken in from many without Redis, or a log is missing.
 */
public final class SpoolReport {
  private static final int LOGS = 500;
  private static final int BODIES = 512;
  private static final int FEW_SENDERS = 8;
  private static final int MANY_SENDERS = 32;
  private static final double MIN_RATIO = 0.5;
  private static final String LINE = "%-28s %8s %12s %12s %12s %10s %12s%n";

  private final Gateway gateway;
  private final Sender sender;
  private final int seconds;
  private long acknowledged;

  private SpoolReport(Gateway gateway, int seconds) {
    this.gateway = gateway;
    this.sender = new Sender(gateway.port(), bodies(), "");
    this.seconds = seconds;
  }

  public static void main(String[] arguments) throws Exception {
    int seconds = Integer.parseInt(System.getenv().getOrDefault("SECONDS_EACH", "20"));
    var folder = WorkDir.create();
    System.out.println(WorkDir.describeMachine(folder));
    boolean good;
    try (var redis =
            EmbeddedRedis.start(new EmbeddedRedis.Settings(folder.resolve("redis"), 0, "2gb"));
        var gateway =
            new Gateway(
                folder,
                "--sluice.spool=redis-then-wal",
                "--sluice.redis.url=" + redis.url(),
                "--sluice.engines.clickhouse.http-port=0",
                "--sluice.engines.clickhouse.tcp-port=0",
                "--sluice.engines.cache-dir=" + Path.of(".cache/sluice").toAbsolutePath())) {
      good = new SpoolReport(gateway, seconds).run(redis);
    }
    WorkDir.delete(folder);
    System.exit(good ? 0 : 1);
  }

  private boolean run(EmbeddedRedis redis) throws IOException, InterruptedException {
    System.out.printf(
        LINE,
        "durable, %d logs a request".formatted(LOGS),
        "senders",
        "logs/s",
        "not taken",
        "CPU us/log",
        "drain s",
        "logs left");
    warmUp(gateway::awaitDrained);
    double fewWith = measure("with Redis", FEW_SENDERS, gateway::awaitDrained);
    double manyWith = measure("with Redis", MANY_SENDERS, gateway::awaitDrained);
    redis.stop();
    warmUp(gateway::awaitWalDrained);
    double few = measure("Redis gone for good", FEW_SENDERS, gateway::awaitWalDrained);
    double many = measure("Redis gone for good", MANY_SENDERS, gateway::awaitWalDrained);
    System.out.printf(
        "without / with: %.2f from few, %.2f from many (at least %.2f is wanted)%n",
        few / fewWith, many / manyWith, MIN_RATIO);
    redis.restart();
    var _ = gateway.awaitDrained();
    return allStored() && many >= MIN_RATIO * manyWith;
  }

  /** What was sent, and stored, without an answer is more than was acknowledged. */
  private boolean allStored() throws IOException, InterruptedException {
    var ledger = gateway.ledger();
    long stored = ledger.path("stored").asLong();
    long imbalance = ledger.path("imbalance").asLong();
    System.out.printf(
        "Redis is back: %,d logs acknowledged, %,d stored, imbalance %d%n",
        acknowledged, stored, imbalance);
    return stored >= acknowledged && imbalance == 0;
  }

  private static List<byte[]> bodies() {
    var random = new Random(42);
    var bodies = new ArrayList<byte[]>();
    for (int i = 0; i < BODIES; i++) {
      bodies.add(SampleLogs.body(random, LOGS));
    }
    return bodies;
  }

  private interface Drain {
    Gateway.DrainResult await() throws IOException, InterruptedException;
  }

  /** The JIT's part; what it has not seen yet would be slow for the first seconds. */
  private void warmUp(Drain drain) throws IOException, InterruptedException {
    acknowledged += sender.send(MANY_SENDERS, seconds, 0).succeeded() * LOGS;
    var _ = drain.await();
  }

  private double measure(String name, int senders, Drain drain)
      throws IOException, InterruptedException {
    WorkDir.awaitIdle();
    var processStats = gateway.processStats();
    var before = processStats.counters();
    var sendResult = sender.send(senders, seconds, 0);
    long endNanos = System.nanoTime();
    long logs = sendResult.succeeded() * LOGS;
    acknowledged += logs;
    var drainResult = drain.await();
    double cpu = processStats.counters().cpuSeconds() - before.cpuSeconds();
    double rate = logs / sendResult.seconds();
    System.out.printf(
        LINE,
        name,
        senders,
        "%,.0f".formatted(rate),
        sendResult.failed(),
        "%.2f".formatted(cpu * 1e6 / logs),
        "%.1f".formatted((drainResult.nanos() - endNanos) / 1e9),
        "%,d".formatted(drainResult.remaining()));
    return rate;
  }
}
