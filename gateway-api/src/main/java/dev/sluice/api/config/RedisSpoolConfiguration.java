package dev.sluice.api.config;

import dev.sluice.api.config.SpoolDelivery.WorkerConsumer;
import dev.sluice.core.delivery.ExclusiveRedeliveryConsumer;
import dev.sluice.core.delivery.ExclusiveRedeliveryConsumer.ShardLocks;
import dev.sluice.core.delivery.LeaseRenewingConsumer;
import dev.sluice.core.port.Scheduler;
import dev.sluice.redis.RedisSpool;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** The wiring of Redis as the only spool. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnProperty(name = "sluice.spool", havingValue = "redis")
class RedisSpoolConfiguration {

  @Bean
  RedisSpool redisSpool(
      SpoolSettings settings, EngineUrls engines, RedisProperties redis, InstantSource clock) {
    return new RedisSpool(settings.redis(engines.requireRedis(), redis), clock);
  }

  @Bean
  SpoolDelivery spoolDelivery(
      RedisSpool spool, RedisProperties redis, DeliveryProperties delivery, Scheduler scheduler) {
    return new SpoolDelivery(
        () -> consumers(spool, redis, delivery.workers(), ShardLocks::new, scheduler), spool);
  }

  /**
   * Creates the consumers of the delivery workers.
   *
   * @param workers delivery workers of each shard
   * @param locks creates the locks of each shard
   * @param scheduler schedules the renewals of leases
   */
  static List<WorkerConsumer> consumers(
      RedisSpool spool,
      RedisProperties redis,
      int workers,
      Supplier<ShardLocks> locks,
      Scheduler scheduler) {
    int shards = redis.shards();
    var renewalInterval = redis.consumerIdleTimeout().dividedBy(3);
    var consumers = new ArrayList<WorkerConsumer>();
    for (int shard = 0; shard < shards; shard++) {
      var shardLocks = locks.get();
      for (int worker = 0; worker < workers; worker++) {
        var consumer = spool.newConsumer(shard, worker);
        var renewing =
            new LeaseRenewingConsumer(
                consumer,
                scheduler,
                task -> Thread.ofVirtual().name("lease-renewal").start(task),
                renewalInterval);
        consumers.add(
            new WorkerConsumer(
                shard + "-" + worker,
                new ExclusiveRedeliveryConsumer(renewing, shardLocks),
                consumer::skippedEntries,
                shards * workers));
      }
    }
    return consumers;
  }
}
