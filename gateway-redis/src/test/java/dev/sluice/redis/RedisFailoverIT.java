package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.core.failover.FailoverSpool;
import dev.sluice.core.port.DailyCounts.RecordCounts;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.core.port.Spool.AppendResult;
import dev.sluice.core.port.SpoolConsumer;
import dev.sluice.engines.EmbeddedRedis;
import dev.sluice.testkit.InMemorySpool;
import dev.sluice.testkit.LogBatches;
import dev.sluice.testkit.SharedEngines;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Failover from Redis under load to a fallback spool in memory. */
@Timeout(120)
class RedisFailoverIT {
  private static final SpoolConsumer.DeliveryLimits DELIVERY_LIMITS =
      new SpoolConsumer.DeliveryLimits(100_000, 1L << 30, Duration.ofMillis(50));

  /** Four times the primary timeout of the failover. */
  private static final Duration MAX_APPEND_DURATION = Duration.ofSeconds(2);

  private final EmbeddedRedis redis;
  private final RedisTestKeys keys;
  private final RedisSpool primary;
  private final InMemorySpool fallback = new InMemorySpool();
  private final ScheduledExecutorService timer = Executors.newScheduledThreadPool(2);
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
  private final FailoverSpool failover;
  private final Set<UUID> accepted = ConcurrentHashMap.newKeySet();
  private final AtomicBoolean sending = new AtomicBoolean(true);
  private final Semaphore sendPermits = new Semaphore(0);

  RedisFailoverIT(@TempDir Path folder) {
    redis =
        EmbeddedRedis.start(
            new EmbeddedRedis.RedisEngineSettings(
                folder, SharedEngines.cacheDirectory(), 0, "256mb"));
    keys = new RedisTestKeys(redis.url());
    primary = keys.spool(keys.settings(DELIVERY_LIMITS));
    failover =
        new FailoverSpool(
            FailoverSpool.SpoolTarget.of("Redis", primary),
            primary,
            primary,
            FailoverSpool.SpoolTarget.of("the fallback", fallback),
            new FailoverSpool.FailoverSettings(
                "node", Duration.ofMillis(500), Duration.ofMillis(100), 1_000, Duration.ofDays(1)),
            (delay, task) -> {
              var _ = timer.schedule(task, delay.toNanos(), TimeUnit.NANOSECONDS);
            },
            (timeout, onTimeout) -> {
              var wait = timer.schedule(onTimeout, timeout.toNanos(), TimeUnit.NANOSECONDS);
              return () -> wait.cancel(false);
            },
            InstantSource.system());
    fallback.setDuplicateCheck(failover.duplicateCheck());
    failover.start();
  }

  @AfterEach
  void close() {
    sending.set(false);
    failover.close();
    threads.close();
    timer.shutdownNow();
    primary.close();
    keys.client.shutdown();
    redis.close();
  }

  @Test
  void append_redisKilledUnderLoad_isAcceptedAndDeliveredOnce() throws Exception {
    var clients =
        Stream.generate(() -> threads.submit(() -> send(Duration.ofSeconds(5)))).limit(8).toList();
    for (int i = 0; i < 3; i++) {
      sendPermits.release(200); // some appends are in flight when Redis is killed
      awaitMore(200);
      redis.kill();
      await().until(() -> !failover.failoverStatus().primaryAvailable());
      awaitMore(200);
      redis.restart();
      await()
          .atMost(Duration.ofSeconds(30))
          .until(() -> failover.failoverStatus().primaryAvailable());
    }

    assertAllDeliveredOnce(clients);
  }

  /** An unresponsive Redis is harder to detect than a stopped one: no connection is closed. */
  @Test
  void append_redisPaused_isAcceptedWithinThePrimaryTimeout() throws Exception {
    var clients =
        Stream.generate(() -> threads.submit(() -> send(MAX_APPEND_DURATION))).limit(4).toList();
    awaitMore(50);
    keys.redis().clientPause(10_000);
    sendPermits.release(50);
    await().until(() -> !failover.failoverStatus().primaryAvailable());
    awaitMore(200);
    assertThat(failover.failoverStatus().primaryAvailable()).isFalse();
    await()
        .atMost(Duration.ofSeconds(30))
        .until(() -> failover.failoverStatus().primaryAvailable());

    assertAllDeliveredOnce(clients);
  }

  /** Stops the clients, and delivers all batches from both spools. */
  private void assertAllDeliveredOnce(List<? extends Future<?>> clients) throws Exception {
    sending.set(false);
    for (var client : clients) {
      client.get();
    }
    var delivered = new HashMap<UUID, Integer>();
    try (var spoolConsumer = primary.newConsumer(0)) {
      await()
          .atMost(Duration.ofSeconds(60))
          .ignoreExceptions()
          .until(
              () -> {
                deliverAll(spoolConsumer, delivered);
                deliverAll(fallback.consumer(), delivered);
                return failover.recordCounts().inFlight() == 0;
              });
    }
    assertThat(delivered.keySet()).isEqualTo(accepted);
    assertThat(delivered.values()).containsOnly(1);
    assertThat(failover.recordCounts()).isEqualTo(new RecordCounts(accepted.size(), 0, 0));
  }

  private static void deliverAll(SpoolConsumer spoolConsumer, Map<UUID, Integer> delivered)
      throws InterruptedException {
    for (var next = spoolConsumer.poll(Duration.ZERO, Duration.ZERO);
        next.isPresent();
        next = spoolConsumer.poll(Duration.ZERO, Duration.ZERO)) {
      spoolConsumer.ack(next.get());
      next.get().batches().forEach(b -> delivered.merge(b.appendId(), 1, Integer::sum));
    }
  }

  /**
   * Appends batches until the test ends.
   *
   * @param limit maximum duration of one append
   */
  private @Nullable Void send(Duration limit) throws Exception {
    while (awaitSendPermit()) {
      var batch = LogBatches.of(1);
      long start = System.nanoTime();
      var appendResult = failover.append(batch, AppendMode.SYNC).toCompletableFuture().get();
      assertThat(appendResult).isInstanceOf(AppendResult.Accepted.class);
      assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(limit);
      accepted.add(batch.appendId());
    }
    return null;
  }

  /**
   * Waits for a permit to append one batch. Without permits, the spool in memory would accept more
   * than can be delivered within the time limit of the test.
   */
  private boolean awaitSendPermit() throws InterruptedException {
    while (sending.get()) {
      if (sendPermits.tryAcquire(50, TimeUnit.MILLISECONDS)) {
        return true;
      }
    }
    return false;
  }

  private void awaitMore(int batches) {
    int before = accepted.size();
    sendPermits.release(batches);
    await().atMost(Duration.ofSeconds(30)).until(() -> accepted.size() >= before + batches);
  }
}
