package dev.sluice.api.boot;

import dev.sluice.api.boot.SluiceProperties.Role;
import dev.sluice.api.boot.SluiceProperties.Waiting;
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
import java.time.Duration;
import java.time.InstantSource;
import java.util.function.ToDoubleFunction;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;

/** Puts together where logs wait between the halves. */
@Configuration(proxyBeanMethods = false)
class SpoolWiring {
  private static final Logger LOG = LoggerFactory.getLogger(SpoolWiring.class);

  /** ClickHouse looks at the time of an insert between two blocks, and a block takes a while. */
  private static final Duration INSERT_ENDS = Duration.ofMinutes(1);

  @Bean(destroyMethod = "close")
  Backends backends(
      SluiceProperties sluice,
      RedisProperties redis,
      ClickHouseProperties clickHouse,
      EmbeddedProperties embedded) {
    return new Backends(sluice.spool(), redis, clickHouse, embedded);
  }

  /** What all spools are told alike. */
  private record Common(
      String instance,
      IngestProperties ingest,
      DeliveryProperties delivery,
      DeliveryLimits deliveryLimits) {

    RedisSpool.Settings redis(String url, RedisProperties redis) {
      return new RedisSpool.Settings(
          url,
          redis.shards(),
          "sluice",
          "sluice",
          instance,
          deliveryLimits,
          delivery.deadLetters(),
          redis.claimIdle(),
          redis.timeout(),
          new RedisSpool.AppendSettings(
              redis.replicas(),
              redis.appendWithin(),
              ingest.idempotencyKeys(),
              ingest.idempotencyRetention()));
    }

    WalSpool.Settings wal(WalProperties wal) {
      return new WalSpool.Settings(
          wal.dir(),
          wal.nodeOr(instance),
          wal.writing(),
          wal.filing(),
          deliveryLimits,
          delivery.deadLetters(),
          ingest.idempotencyKeys(),
          ingest.idempotencyRetention());
    }
  }

  @Bean
  Common common(
      SluiceProperties sluice,
      IngestProperties ingest,
      DeliveryProperties delivery,
      Environment environment) {
    return new Common(
        instance(sluice, environment),
        ingest,
        delivery,
        new DeliveryLimits(
            delivery.maxRecords(), delivery.maxBytes().toBytes(), delivery.maxAge()));
  }

  /** The same after a restart, so that what this process had in hand goes on at once. */
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

  /** Ended by {@link Spools}. */
  @Bean(destroyMethod = "")
  Spool spool(Spools spools) {
    return spools.spool();
  }

  /** Logs that nobody may deliver any more, since this process is called otherwise now. */
  @Bean
  SmartInitializingSingleton leftovers(Common common, SluiceProperties sluice, WalProperties wal) {
    var own = sluice.spool() == Waiting.REDIS ? null : wal.nodeOr(common.instance());
    return () -> {
      try {
        WalSpool.orphanedRecords(wal.dir(), own)
            .forEach(
                (node, records) ->
                    LOG.warn(
                        "{} logs lie in the write-ahead log of node {} in {}: unless another process"
                            + " has it, start one with sluice.wal.node={}",
                        records,
                        node,
                        wal.dir(),
                        node));
      } catch (IOException e) {
        LOG.warn("whether logs were left in {} is not known: {}", wal.dir(), e.toString());
      }
    };
  }

  @Bean
  WalEndpoint walEndpoint(Spools spools) {
    return new WalEndpoint(spools.wal(), spools.failover());
  }

  /** Not a number where there is no such log. */
  @Bean
  MeterBinder walGauges(Spools spools) {
    return registry -> {
      gauge("segments", spools, status -> status.segments().size())
          .description("Segments of the write-ahead log")
          .register(registry);
      gauge("size", spools, SpoolWiring::size)
          .description("What they take on the disk")
          .baseUnit("bytes")
          .register(registry);
      gauge("waiting", spools, WalSpool.Status::pendingRecords)
          .description("Log records in the write-ahead log that are not delivered yet")
          .register(registry);
      gauge("quarantined", spools, status -> status.quarantined().size())
          .description("Damaged frames that were put aside for somebody to look at")
          .register(registry);
      gauge("oldest.age", spools, status -> status.backlog().oldestAge().toMillis() / 1e3)
          .description("Age of the oldest of them")
          .baseUnit("seconds")
          .register(registry);
      gauge("unavailable", spools, status -> status.unavailableReason() == null ? 0 : 1)
          .description("Whether something keeps logs from being appended to it: 1 or 0")
          .register(registry);
      Gauge.builder("sluice.failover.active", spools, SpoolWiring::standsIn)
          .description("Whether the write-ahead log takes the logs in the place of Redis: 1 or 0")
          .register(registry);
    };
  }

  private static Gauge.Builder<Spools> gauge(
      String name, Spools spools, ToDoubleFunction<WalSpool.Status> figure) {
    return Gauge.builder(
        "sluice.wal." + name,
        spools,
        from -> {
          var wal = from.wal();
          return wal == null ? Double.NaN : figure.applyAsDouble(wal.status());
        });
  }

  private static double standsIn(Spools spools) {
    var failover = spools.failover();
    return failover == null ? Double.NaN : failover.failoverStatus().firstTakesLogs() ? 0 : 1;
  }

  private static long size(WalSpool.Status status) {
    return status.segments().stream().mapToLong(WalSpool.SegmentStatus::bytes).sum();
  }

  @Bean(destroyMethod = "close")
  Spools spools(
      Common common,
      Backends backends,
      SluiceProperties sluice,
      RedisProperties redis,
      WalProperties wal,
      FailoverProperties failover,
      ClickHouseProperties clickHouse,
      Scheduler scheduler,
      TimeoutScheduler timeoutScheduler,
      InstantSource clock,
      ShutdownBudget budget) {
    return switch (sluice.spool()) {
      case REDIS -> Spools.redis(common.redis(backends.redisUrl(), redis), clock, budget);
      case WAL -> Spools.wal(common.wal(wal), clock, budget);
      case REDIS_THEN_WAL ->
          Spools.redisThenWal(
              common.redis(backends.redisUrl(), redis),
              common.wal(wal),
              new FailoverSpool.FailoverSettings(
                  failover.patience(),
                  failover.probe(),
                  sluice.roles().contains(Role.DELIVER),
                  common.ingest().idempotencyKeys(),
                  common.ingest().idempotencyRetention(),
                  clickHouse.insertTimeout().plus(INSERT_ENDS)),
              scheduler,
              timeoutScheduler,
              clock,
              budget);
    };
  }
}
