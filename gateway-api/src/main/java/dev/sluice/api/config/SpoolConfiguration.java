package dev.sluice.api.config;

import dev.sluice.api.config.SluiceProperties.SpoolType;
import dev.sluice.core.failover.FailoverSpool;
import dev.sluice.core.port.Scheduler;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.SpoolConsumer.DeliveryLimits;
import dev.sluice.core.port.TimeoutScheduler;
import dev.sluice.redis.RedisSpool;
import dev.sluice.wal.WalSpool;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.InstantSource;
import java.util.function.ToDoubleFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;

/** The wiring of the spool. */
@Configuration(proxyBeanMethods = false)
class SpoolConfiguration {
  private static final Logger LOG = LoggerFactory.getLogger(SpoolConfiguration.class);

  /** The settings that all spools share. */
  private record SpoolCommonSettings(
      String instance,
      IngestProperties ingest,
      DeliveryProperties delivery,
      DeliveryLimits deliveryLimits) {

    RedisSpool.RedisSpoolSettings redis(String url, RedisProperties redis) {
      return new RedisSpool.RedisSpoolSettings(
          url,
          redis.shards(),
          "sluice",
          "sluice",
          instance,
          deliveryLimits,
          redis.consumerIdleTimeout(),
          redis.commandTimeout(),
          new RedisSpool.AppendSettings(
              redis.replicas(),
              redis.appendTimeout(),
              ingest.idempotencyKeys(),
              ingest.idempotencyKeyTtl()));
    }

    WalSpool.WalSpoolSettings wal(WalProperties wal) {
      return new WalSpool.WalSpoolSettings(
          wal.dir(),
          wal.nodeOrElse(instance),
          wal.writeSettings(),
          wal.segmentSettings(),
          deliveryLimits,
          ingest.idempotencyKeys(),
          ingest.idempotencyKeyTtl());
    }
  }

  @Bean
  SpoolCommonSettings spoolCommonSettings(
      SluiceProperties sluice,
      IngestProperties ingest,
      DeliveryProperties delivery,
      Environment environment) {
    return new SpoolCommonSettings(
        instance(sluice, environment),
        ingest,
        delivery,
        new DeliveryLimits(
            delivery.maxRecords(), delivery.maxBytes().toBytes(), delivery.linger()));
  }

  /**
   * Returns a name that is stable across restarts, so that deliveries in flight resume immediately.
   */
  private static String instance(SluiceProperties sluice, Environment environment) {
    var configured = sluice.instance();
    if (configured != null) {
      return configured;
    }
    try {
      return InetAddress.getLocalHost().getHostName()
          + "-"
          + environment.getProperty("server.port", "8080");
    } catch (UnknownHostException _) {
      return "localhost-" + environment.getProperty("server.port", "8080");
    }
  }

  /** The spool, closed by {@link SpoolBackend}. */
  @Bean(destroyMethod = "")
  Spool spool(SpoolBackend spoolBackend) {
    return spoolBackend.spool();
  }

  /** Warns of logs that no process may deliver, because this process has another name now. */
  @Bean
  SmartInitializingSingleton orphanedNodeCheck(
      SpoolCommonSettings common, SluiceProperties sluice, WalProperties wal) {
    var ownNode = sluice.spool() == SpoolType.REDIS ? null : wal.nodeOrElse(common.instance());
    return () -> {
      try {
        WalSpool.orphanedRecords(wal.dir(), ownNode)
            .forEach(
                (node, records) ->
                    LOG.warn(
                        "WAL node {} in {} has {} undelivered logs: unless another process runs it,"
                            + " start one with sluice.wal.node={}",
                        node,
                        wal.dir(),
                        records,
                        node));
      } catch (IOException e) {
        LOG.warn("orphaned WAL nodes in {} not checked: {}", wal.dir(), e.toString());
      }
    };
  }

  @Bean
  WalEndpoint walEndpoint(SpoolBackend spoolBackend) {
    return new WalEndpoint(spoolBackend.wal(), spoolBackend.failover());
  }

  /** Gauges of the write-ahead log; NaN when there is none. */
  @Bean
  MeterBinder walGauges(SpoolBackend spoolBackend) {
    return registry -> {
      gauge("segments", spoolBackend, status -> status.segments().size())
          .description("Segments of the write-ahead log")
          .register(registry);
      gauge("size", spoolBackend, SpoolConfiguration::totalBytes)
          .description("Size of the segments of the write-ahead log on the disk")
          .baseUnit("bytes")
          .register(registry);
      gauge("backlog.records", spoolBackend, WalSpool.Status::pendingRecords)
          .description("Undelivered log records in the write-ahead log")
          .register(registry);
      gauge("quarantined", spoolBackend, status -> status.quarantined().size())
          .description("Damaged frames in quarantine")
          .register(registry);
      gauge("oldest.age", spoolBackend, status -> status.backlog().oldestAge().toMillis() / 1e3)
          .description("Age of the oldest undelivered entry of the write-ahead log")
          .baseUnit("seconds")
          .register(registry);
      gauge("unavailable", spoolBackend, status -> status.unavailableReason() == null ? 0 : 1)
          .description("1 while the write-ahead log rejects appends, else 0")
          .register(registry);
      Gauge.builder("sluice.failover.active", spoolBackend, SpoolConfiguration::failoverActive)
          .description("1 while the write-ahead log replaces Redis as the spool, else 0")
          .register(registry);
    };
  }

  private static Gauge.Builder<SpoolBackend> gauge(
      String name, SpoolBackend spoolBackend, ToDoubleFunction<WalSpool.Status> value) {
    return Gauge.builder(
        "sluice.wal." + name,
        spoolBackend,
        from -> {
          var wal = from.wal();
          return wal == null ? Double.NaN : value.applyAsDouble(wal.status());
        });
  }

  private static double failoverActive(SpoolBackend spoolBackend) {
    var failover = spoolBackend.failover();
    return failover == null ? Double.NaN : failover.failoverStatus().primaryAvailable() ? 0 : 1;
  }

  private static long totalBytes(WalSpool.Status status) {
    return status.segments().stream().mapToLong(WalSpool.SegmentStatus::bytes).sum();
  }

  @Bean(destroyMethod = "close")
  SpoolBackend spoolBackend(
      SpoolCommonSettings common,
      EngineUrls engines,
      SluiceProperties sluice,
      RedisProperties redis,
      WalProperties wal,
      FailoverProperties failover,
      Scheduler scheduler,
      TimeoutScheduler timeoutScheduler,
      InstantSource clock) {
    return switch (sluice.spool()) {
      case REDIS -> SpoolBackend.redis(common.redis(engines.requireRedis(), redis), clock);
      case WAL -> SpoolBackend.wal(common.wal(wal), clock);
      case REDIS_THEN_WAL ->
          SpoolBackend.redisThenWal(
              common.redis(engines.requireRedis(), redis),
              common.wal(wal),
              new FailoverSpool.FailoverSettings(
                  failover.primaryTimeout(),
                  failover.probeInterval(),
                  common.ingest().idempotencyKeys(),
                  common.ingest().idempotencyKeyTtl()),
              scheduler,
              timeoutScheduler,
              clock);
    };
  }
}
