package dev.sluice.api.config;

import dev.sluice.api.config.SluiceProperties.Role;
import dev.sluice.core.delivery.ExclusiveRedeliveryConsumer;
import dev.sluice.core.delivery.ExclusiveRedeliveryConsumer.ShardLocks;
import dev.sluice.core.failover.FailoverSpool;
import dev.sluice.core.failover.FailoverSpool.SpoolTarget;
import dev.sluice.core.port.Scheduler;
import dev.sluice.core.port.TimeoutScheduler;
import dev.sluice.redis.RedisSpool;
import dev.sluice.wal.WalSpool;
import java.time.InstantSource;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Primary;

/** The wiring of Redis as the primary spool and the write-ahead log as its fallback. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnProperty(name = "sluice.spool", havingValue = "redis-then-wal", matchIfMissing = true)
class FailoverSpoolConfiguration {

  @Bean
  WalSpool walSpool(SpoolSettings settings, WalProperties wal, InstantSource clock) {
    return WalSpoolConfiguration.open(settings.wal(wal), clock);
  }

  @Bean
  RedisSpool redisSpool(
      SpoolSettings settings, EngineUrls engines, RedisProperties redis, InstantSource clock) {
    return new RedisSpool(settings.redis(engines.requireRedis(), redis), clock);
  }

  @Bean(initMethod = "start")
  @Primary
  FailoverSpool failoverSpool(
      WalSpool wal,
      RedisSpool redis,
      SpoolSettings settings,
      FailoverProperties failover,
      WalProperties walProperties,
      Scheduler scheduler,
      TimeoutScheduler timeoutScheduler,
      InstantSource clock) {
    return new FailoverSpool(
        SpoolTarget.of("Redis", redis),
        redis,
        redis,
        SpoolTarget.of("the write-ahead log", wal),
        settings.failover(failover, walProperties),
        scheduler,
        timeoutScheduler,
        clock);
  }

  /**
   * The delivery of both. Each process delivers its fallback, whatever its roles, and while Redis
   * is unavailable it can deliver nothing else.
   */
  @Bean
  SpoolDelivery spoolDelivery(
      FailoverSpool failover,
      RedisSpool redis,
      WalSpool wal,
      RedisProperties properties,
      DeliveryProperties delivery,
      SluiceProperties sluice,
      Scheduler scheduler) {
    int workers = sluice.roles().contains(Role.DELIVER) ? delivery.workers() : 0;
    return new SpoolDelivery(
        () -> {
          // the fallback may redeliver a batch that a worker of the primary still inserts
          var locks = new ShardLocks();
          var consumers =
              RedisSpoolConfiguration.consumers(
                  redis, properties, workers, locks::ofOtherShard, scheduler);
          var walConsumer = wal.newConsumer(failover.duplicateCheck());
          consumers.add(
              WalSpoolConfiguration.consumer(
                  wal, new ExclusiveRedeliveryConsumer(walConsumer, locks)));
          return consumers;
        },
        () -> failover.failoverStatus().primaryAvailable() ? failover.depth() : wal.depth());
  }
}
