package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.failover.FailoverSpool;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.core.port.Spool.AppendResult;
import dev.sluice.core.port.Spool.RecordCounts;
import dev.sluice.core.port.SpoolConsumer;
import dev.sluice.engines.EmbeddedRedis;
import dev.sluice.testkit.InMemorySpool;
import dev.sluice.testkit.LogBatches;
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

/** Redis away under load, with a spool in memory that stands in for it. */
@Timeout(120)
class RedisFailoverTest {
  private static final SpoolConsumer.DeliveryLimits BOUNDS =
      new SpoolConsumer.DeliveryLimits(100_000, 1L << 30, Duration.ofMillis(50));

  /** Four times the patience that the failover has with Redis. */
  private static final Duration LIMIT = Duration.ofSeconds(2);

  private final EmbeddedRedis redis;
  private final RedisTestKeys keys;
  private final RedisSpool first;
  private final InMemorySpool second = new InMemorySpool();
  private final ScheduledExecutorService timer = Executors.newScheduledThreadPool(2);
  private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
  private final FailoverSpool failover;
  private final Set<UUID> accepted = ConcurrentHashMap.newKeySet();
  private final AtomicBoolean sending = new AtomicBoolean(true);
  private final Semaphore allowed = new Semaphore(0);

  RedisFailoverTest(@TempDir Path folder) {
    redis = EmbeddedRedis.start(new EmbeddedRedis.Settings(folder, 0, "256mb"));
    keys = new RedisTestKeys(redis.url());
    first = keys.spool(keys.settings(BOUNDS));
    failover =
        new FailoverSpool(
            new FailoverSpool.SpoolTarget("Redis", first, first, first, first.deadLetters()),
            new FailoverSpool.SpoolTarget("the log", second, second, second, second),
            second,
            new FailoverSpool.FailoverSettings(
                Duration.ofMillis(500),
                Duration.ofMillis(100),
                false,
                1_000,
                Duration.ofDays(1),
                Duration.ofMinutes(2)),
            (delay, task) -> {
              var _ = timer.schedule(task, delay.toNanos(), TimeUnit.NANOSECONDS);
            },
            (within, missed) -> {
              var wait = timer.schedule(missed, within.toNanos(), TimeUnit.NANOSECONDS);
              return () -> wait.cancel(false);
            },
            InstantSource.system());
    failover.start();
  }

  @AfterEach
  void close() {
    sending.set(false);
    failover.close();
    threads.close();
    timer.shutdownNow();
    first.close();
    keys.client.shutdown();
    redis.close();
  }

  @Test
  void append_redisKilledUnderLoad_isAcceptedAndStoredInRedisOnce() throws Exception {
    var clients =
        Stream.generate(() -> threads.submit(() -> send(Duration.ofSeconds(5)))).limit(8).toList();
    for (int i = 0; i < 3; i++) {
      allowed.release(200); // some are under way when it is killed
      awaitMore(200);
      redis.kill();
      await().until(() -> !failover.failoverStatus().firstTakesLogs());
      awaitMore(200);
      redis.restart();
      await()
          .atMost(Duration.ofSeconds(30))
          .until(() -> failover.failoverStatus().firstTakesLogs());
    }

    assertThatAllIsInRedisOnce(clients);
  }

  /** Silent is worse than away: nobody is told. */
  @Test
  void append_redisPaused_isAcceptedWithinThePrimaryTimeout() throws Exception {
    var clients = Stream.generate(() -> threads.submit(() -> send(LIMIT))).limit(4).toList();
    awaitMore(50);
    keys.redis().clientPause(10_000);
    allowed.release(50);
    await().until(() -> !failover.failoverStatus().firstTakesLogs());
    awaitMore(200);
    assertThat(failover.failoverStatus().firstTakesLogs()).isFalse();
    await().atMost(Duration.ofSeconds(30)).until(() -> failover.failoverStatus().firstTakesLogs());

    assertThatAllIsInRedisOnce(clients);
  }

  /** Once the clients have ended and everything was given back. */
  private void assertThatAllIsInRedisOnce(List<? extends Future<?>> clients) throws Exception {
    sending.set(false);
    for (var client : clients) {
      client.get();
    }
    await()
        .atMost(Duration.ofSeconds(30))
        .ignoreExceptions()
        .until(() -> second.recordCounts().equals(RecordCounts.NONE));
    var there = delivered();
    assertThat(there.keySet()).containsAll(accepted);
    assertThat(there.values()).containsOnly(1);
  }

  /**
   * @param limit that no append takes longer than
   */
  private @Nullable Void send(Duration limit) throws Exception {
    while (allowed()) {
      var batch = LogBatches.of(1);
      long start = System.nanoTime();
      var appendResult = failover.append(batch, AppendMode.SYNC).toCompletableFuture().get();
      assertThat(appendResult).isInstanceOf(AppendResult.Accepted.class);
      assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(limit);
      accepted.add(batch.appendId());
    }
    return null;
  }

  /** Waits for it; a spool in memory would take more than can be given back in a minute. */
  private boolean allowed() throws InterruptedException {
    while (sending.get()) {
      if (allowed.tryAcquire(50, TimeUnit.MILLISECONDS)) {
        return true;
      }
    }
    return false;
  }

  private void awaitMore(int batches) {
    int before = accepted.size();
    allowed.release(batches);
    await().atMost(Duration.ofSeconds(30)).until(() -> accepted.size() >= before + batches);
  }

  private Map<UUID, Integer> delivered() throws InterruptedException {
    var delivered = new HashMap<UUID, Integer>();
    try (var deliveries = first.newConsumer(0)) {
      await().ignoreExceptions().until(() -> deliveries.poll(Duration.ofMillis(50)).isPresent());
      for (var next = deliveries.poll(Duration.ZERO);
          next.isPresent();
          next = deliveries.poll(Duration.ZERO)) {
        next.get().batches().stream()
            .map(LogBatch::appendId)
            .forEach(id -> delivered.merge(id, 1, Integer::sum));
        deliveries.ack(next.get());
      }
    }
    return delivered;
  }
}
