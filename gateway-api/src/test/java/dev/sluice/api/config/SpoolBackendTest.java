package dev.sluice.api.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.api.ops.DeliveryHealth;
import dev.sluice.core.failover.FailoverSpool;
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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;
import org.springframework.boot.health.contributor.Status;

@Timeout(60)
class SpoolBackendTest {
  private static final DeliveryLimits LIMITS =
      new DeliveryLimits(1_000, 1 << 20, Duration.ofMillis(50));

  /** A port without a listener. */
  private static final String NO_REDIS = "redis://127.0.0.1:1";

  @TempDir Path folder;

  /** Without Redis the process still delivers from its write-ahead log, so it must stay ready. */
  @Test
  void deliverableBacklog_redisUnavailable_isTheWalAndDeliveryIsHealthy() {
    try (var spoolBackend = redisThenWal()) {
      var appendResult = spoolBackend.spool().append(LogBatches.of(3)).toCompletableFuture().join();
      assertThat(appendResult).isInstanceOf(AppendResult.Accepted.class);

      var health = new DeliveryHealth(List::of, spoolBackend.deliverableBacklog()).health();

      assertThat(spoolBackend.deliverableBacklog().depth().entries()).isEqualTo(1);
      assertThat(health.getStatus()).isEqualTo(Status.UP);
      assertThat(health.getDetails()).containsEntry("entries", 1L);
      assertThatThrownBy(spoolBackend.backlog()::depth).isInstanceOf(RuntimeException.class);
    }
  }

  @Test
  void consumers_noWorkerOfRedis_hasThatOfTheWal() {
    try (var spoolBackend = redisThenWal()) {
      assertThat(spoolBackend.consumers(0)).containsOnlyKeys(SpoolBackend.WAL_WORKER);
    }
  }

  private SpoolBackend redisThenWal() {
    var wal =
        new Binder(new MapConfigurationPropertySource(Map.of("sluice.wal.min-free-disk", "1MB")))
            .bindOrCreate("sluice.wal", Bindable.of(WalProperties.class));
    return SpoolBackend.redisThenWal(
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
        new WalSpool.WalSpoolSettings(
            folder,
            "one",
            wal.writeSettings(),
            wal.segmentSettings(),
            LIMITS,
            10,
            Duration.ofMinutes(1)),
        new FailoverSpool.FailoverSettings(
            Duration.ofSeconds(10), Duration.ofHours(1), 10, Duration.ofDays(1)),
        (_, _) -> {}, // no timer runs
        (_, _) -> () -> {},
        InstantSource.system());
  }
}
