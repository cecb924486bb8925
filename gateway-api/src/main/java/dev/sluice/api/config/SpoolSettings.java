package dev.sluice.api.config;

import dev.sluice.core.failover.FailoverSpool.FailoverSettings;
import dev.sluice.core.port.SpoolConsumer.DeliveryLimits;
import dev.sluice.redis.RedisSpool;
import dev.sluice.wal.WalSpool;

/** The settings that all spools share. */
record SpoolSettings(String instance, IngestProperties ingest, DeliveryLimits deliveryLimits) {

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

  FailoverSettings failover(FailoverProperties failover, WalProperties wal) {
    return new FailoverSettings(
        wal.nodeOrElse(instance),
        failover.primaryTimeout(),
        failover.probeInterval(),
        ingest.idempotencyKeys(),
        ingest.idempotencyKeyTtl());
  }
}
