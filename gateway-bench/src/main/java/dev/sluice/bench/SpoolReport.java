package dev.sluice.bench;

import dev.sluice.core.otlp.SampleLogs;
import dev.sluice.engines.EmbeddedRedis;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * The spool report: the rate of a gateway at level {@code durable} with Redis, and its rate after
 * Redis is gone. One gateway in one run warms up and is measured; then Redis stops, and the gateway
 * warms up and is measured again. Then Redis starts again, and all acknowledged logs must be
 * stored.
 *
 * <p>A sender waits for its response before it sends again. So few senders measure the latency of a
 * response with its share of a disk sync, and many senders measure the capacity of the gateway. The
 * report shows both; the exit status depends on the capacity.
 *
 * <p>Run by {@code make bench-spool}. Environment variable: {@code SECONDS_EACH}, 20 by default.
 * The exit status is 1 when the rate of many senders without Redis is less than half of the rate
 * with Redis, or a log is missing.
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
            EmbeddedRedis.start(
                new EmbeddedRedis.RedisEngineSettings(folder.resolve("redis"), 0, "2gb"));
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
        "not accepted",
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
        "without / with: %.2f for few senders, %.2f for many (target: at least %.2f)%n",
        few / fewWith, many / manyWith, MIN_RATIO);
    redis.restart();
    var _ = gateway.awaitDrained();
    return allStored() && many >= MIN_RATIO * manyWith;
  }

  /**
   * Whether all acknowledged logs are stored. Logs that were stored without a response come on top.
   */
  private boolean allStored() throws IOException, InterruptedException {
    var ledger = gateway.ledger();
    long stored = ledger.path("stored").asLong();
    long imbalance = ledger.path("imbalance").asLong();
    System.out.printf(
        "Redis is available again: %,d logs acknowledged, %,d stored, imbalance %d%n",
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

  /** Sends and drains, so that the JIT compiles the code of the measurement before it starts. */
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
