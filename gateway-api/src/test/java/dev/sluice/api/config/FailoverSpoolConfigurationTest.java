package dev.sluice.api.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import dev.sluice.api.config.SpoolDelivery.WorkerConsumer;
import dev.sluice.api.ops.DeliveryHealth;
import dev.sluice.core.failover.FailoverSpool;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.core.port.Spool.AppendResult;
import dev.sluice.core.port.SpoolConsumer.DeliveryLimits;
import dev.sluice.redis.RedisSpool;
import dev.sluice.testkit.LogBatches;
import dev.sluice.wal.WalSpool;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.boot.health.contributor.Status;

@Timeout(60)
class FailoverSpoolConfigurationTest {
  private static final DeliveryLimits LIMITS =
      new DeliveryLimits(1_000, 1 << 20, Duration.ofMillis(50));

  /** A port without a listener. */
  private static final String NO_REDIS = "redis://127.0.0.1:1";

  @TempDir Path folder;

  private WalSpool wal;
  private RedisSpool redis;
  private FailoverSpool failover;

  @BeforeEach
  void open() {
    var properties =
        new Binder(new MapConfigurationPropertySource(Map.of("sluice.wal.min-free-disk", "1MB")))
            .bindOrCreate("sluice.wal", Bindable.of(WalProperties.class));
    wal =
        WalSpoolConfiguration.open(
            new WalSpool.WalSpoolSettings(
                folder,
                "one",
                properties.writeSettings(),
                properties.segmentSettings(),
                LIMITS,
                10,
                Duration.ofMinutes(1)),
            InstantSource.system());
    redis =
        new RedisSpool(
            new RedisSpool.RedisSpoolSettings(
                NO_REDIS,
                1,
                "sluice",
                "sluice",
                "one",
                LIMITS,
                Duration.ofMinutes(1),
                Duration.ofSeconds(1),
                RedisSpool.AppendSettings.DEFAULT),
            InstantSource.system());
    failover =
        FailoverSpoolConfiguration.failover(
            wal,
            redis,
            new FailoverSpool.FailoverSettings(
                Duration.ofSeconds(10), Duration.ofHours(1), 10, Duration.ofDays(1)),
            (_, _) -> {}, // no timer runs
            (_, _) -> () -> {},
            InstantSource.system());
  }

  @AfterEach
  void close() {
    failover.close();
    wal.close();
    redis.close();
  }

  /** Without Redis the process still delivers from its write-ahead log, so it must stay ready. */
  @Test
  void deliverableBacklog_redisUnavailable_isTheWalAndDeliveryIsHealthy() {
    var appendResult =
        failover.append(LogBatches.of(3), AppendMode.SYNC).toCompletableFuture().join();
    assertThat(appendResult).isInstanceOf(AppendResult.Accepted.class);
    var deliverable = delivery(1).deliverableBacklog();

    var health = new DeliveryHealth(List::of, deliverable).health();

    assertThat(deliverable.depth().entries()).isEqualTo(1);
    assertThat(health.getStatus()).isEqualTo(Status.UP);
    assertThat(health.getDetails()).containsEntry("entries", 1L);
    assertThatThrownBy(failover::depth).isInstanceOf(RuntimeException.class);
  }

  @Test
  void consumers_noWorkerOfRedis_hasThatOfTheWal() {
    assertThat(delivery(0).consumers().get().stream().map(WorkerConsumer::worker))
        .containsExactly("wal");
  }

  @Test
  void consumers_workersOfRedis_storeConcurrentlyWithoutThatOfTheWal() {
    assertThat(delivery(2).consumers().get())
        .extracting(WorkerConsumer::worker, WorkerConsumer::concurrentWorkers)
        .containsExactly(tuple("0-0", 2), tuple("0-1", 2), tuple("wal", 1));
  }

  private SpoolDelivery delivery(int workers) {
    return FailoverSpoolConfiguration.delivery(failover, redis, wal, 1, workers);
  }
}
