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
  private static final InstantSource CLOCK = InstantSource.system();

  @TempDir Path folder;
  private final FailoverSpoolConfiguration configuration = new FailoverSpoolConfiguration();
  private WalSpool wal;
  private RedisSpool redis;
  private FailoverSpool failover;

  @BeforeEach
  void open() {
    var settings =
        new SpoolSettings(
            "one", bind("sluice.ingest", IngestProperties.class), DeliveryLimits.DEFAULT);
    var walProperties = bind("sluice.wal", WalProperties.class);
    wal = configuration.walSpool(settings, walProperties, CLOCK);
    var noEngines = new EngineUrls("redis://127.0.0.1:1", "http://127.0.0.1:1", "");
    redis =
        configuration.redisSpool(
            settings, noEngines, bind("sluice.redis", RedisProperties.class), CLOCK);
    failover =
        configuration.failoverSpool(
            wal,
            redis,
            settings,
            bind("sluice.failover", FailoverProperties.class),
            walProperties,
            (_, _) -> {}, // no timer runs
            (_, _) -> () -> {},
            CLOCK);
  }

  private <T> T bind(String prefix, Class<T> type, String... roles) {
    var properties =
        Map.of(
            "sluice.wal.dir",
            folder.toString(),
            "sluice.wal.min-free-disk",
            "1MB",
            "sluice.delivery.workers",
            "2",
            "sluice.roles",
            String.join(",", roles));
    return new Binder(new MapConfigurationPropertySource(properties))
        .bindOrCreate(prefix, Bindable.of(type));
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
    var deliverable = delivery("ingest", "deliver").deliverableBacklog();

    var health = new DeliveryHealth(List::of, deliverable).health();

    assertThat(deliverable.depth().entries()).isEqualTo(1);
    assertThat(health.getStatus()).isEqualTo(Status.UP);
    assertThat(health.getDetails()).containsEntry("entries", 1L);
    assertThatThrownBy(failover::depth).isInstanceOf(RuntimeException.class);
  }

  @Test
  void consumers_withoutRoleDeliver_areThatOfTheWal() {
    assertThat(delivery("ingest").consumers().get().stream().map(WorkerConsumer::worker))
        .containsExactly("wal");
  }

  @Test
  void consumers_workersOfRedis_storeConcurrentlyWithoutThatOfTheWal() {
    assertThat(delivery("deliver").consumers().get())
        .extracting(WorkerConsumer::worker, WorkerConsumer::concurrentWorkers)
        .containsExactly(tuple("0-0", 2), tuple("0-1", 2), tuple("wal", 1));
  }

  private SpoolDelivery delivery(String... roles) {
    return configuration.spoolDelivery(
        failover,
        redis,
        wal,
        bind("sluice.redis", RedisProperties.class),
        bind("sluice.delivery", DeliveryProperties.class),
        bind("sluice", SluiceProperties.class, roles),
        (_, _) -> {});
  }
}
