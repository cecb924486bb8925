package dev.sluice.api.config;

import dev.sluice.api.config.SpoolDelivery.WorkerConsumer;
import dev.sluice.core.delivery.ExclusiveRedeliveryConsumer;
import dev.sluice.core.delivery.ExclusiveRedeliveryConsumer.ShardLocks;
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
      RedisSpool spool, RedisProperties redis, DeliveryProperties delivery) {
    return new SpoolDelivery(
        () -> consumers(spool, redis.shards(), delivery.workers(), ShardLocks::new), spool);
  }

  /**
   * Creates the consumers of the delivery workers.
   *
   * @param workers delivery workers of each shard
   * @param locks creates the locks of each shard
   */
  static List<WorkerConsumer> consumers(
      RedisSpool spool, int shards, int workers, Supplier<ShardLocks> locks) {
    var consumers = new ArrayList<WorkerConsumer>();
    for (int shard = 0; shard < shards; shard++) {
      var shardLocks = locks.get();
      for (int worker = 0; worker < workers; worker++) {
        var consumer = spool.newConsumer(shard, worker);
        consumers.add(
            new WorkerConsumer(
                shard + "-" + worker,
                new ExclusiveRedeliveryConsumer(consumer, shardLocks),
                consumer::skippedEntries,
                shards * workers));
      }
    }
    return consumers;
  }
}
