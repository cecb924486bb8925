package dev.sluice.api.config;

import dev.sluice.core.delivery.ExclusiveRedeliveryConsumer;
import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.failover.FailoverSpool;
import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.Scheduler;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.SpoolConsumer;
import dev.sluice.core.port.TimeoutScheduler;
import dev.sluice.redis.RedisSpool;
import dev.sluice.wal.WalSpool;
import java.io.IOException;
import java.time.InstantSource;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.SequencedMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.springframework.context.SmartLifecycle;

/**
 * The implementation of the spool ports that {@code sluice.spool} selects: Redis, the write-ahead
 * log, or Redis with the write-ahead log as fallback. It starts before all components that use it.
 */
final class SpoolBackend implements SmartLifecycle, AutoCloseable {

  /** Below the phase of delivery: starts before it, stops after it. */
  private static final int PHASE = -1;

  /** The name of the delivery worker of the write-ahead log. */
  static final String WAL_WORKER = "wal";

  private final @Nullable RedisSpool redis;
  private final int shards;
  private final @Nullable WalSpool wal;
  private final @Nullable FailoverSpool failover;
  private final SpoolPorts ports;
  private volatile boolean running;

  private record SpoolPorts(Spool spool, IdempotencyStore idempotencyStore, Backlog backlog) {}

  private SpoolBackend(
      @Nullable RedisSpool redis,
      int shards,
      @Nullable WalSpool wal,
      @Nullable FailoverSpool failover,
      SpoolPorts ports) {
    this.redis = redis;
    this.shards = shards;
    this.wal = wal;
    this.failover = failover;
    this.ports = ports;
  }

  static SpoolBackend redis(RedisSpool.RedisSpoolSettings settings, InstantSource clock) {
    var redis = new RedisSpool(settings, clock);
    var ports = new SpoolPorts(redis, redis, redis);
    return new SpoolBackend(redis, settings.shards(), null, null, ports);
  }

  /**
   * Opens the write-ahead log as the only spool.
   *
   * @throws WalUnavailableException when its directory cannot be used
   */
  static SpoolBackend wal(WalSpool.WalSpoolSettings settings, InstantSource clock) {
    var wal = openWal(settings, clock);
    return new SpoolBackend(null, 0, wal, null, new SpoolPorts(wal, wal, wal));
  }

  /**
   * Opens Redis as the primary spool and the write-ahead log as its fallback.
   *
   * @throws WalUnavailableException when the directory of the write-ahead log cannot be used
   */
  static SpoolBackend redisThenWal(
      RedisSpool.RedisSpoolSettings redisSettings,
      WalSpool.WalSpoolSettings walSettings,
      FailoverSpool.FailoverSettings settings,
      Scheduler scheduler,
      TimeoutScheduler timeoutScheduler,
      InstantSource clock) {
    var wal = openWal(walSettings, clock); // first: it may throw, and Redis must then stay closed
    var redis = new RedisSpool(redisSettings, clock);
    var failover =
        new FailoverSpool(
            new FailoverSpool.SpoolTarget("Redis", redis, redis, redis),
            redis,
            new FailoverSpool.SpoolTarget("the write-ahead log", wal, wal, wal),
            settings,
            scheduler,
            timeoutScheduler,
            clock);
    var ports = new SpoolPorts(failover, failover, failover);
    return new SpoolBackend(redis, redisSettings.shards(), wal, failover, ports);
  }

  private static WalSpool openWal(WalSpool.WalSpoolSettings settings, InstantSource clock) {
    try {
      return WalSpool.open(settings, clock);
    } catch (IOException e) {
      throw new WalUnavailableException(e);
    }
  }

  Spool spool() {
    return ports.spool();
  }

  IdempotencyStore idempotencyStore() {
    return ports.idempotencyStore();
  }

  Backlog backlog() {
    return ports.backlog();
  }

  /**
   * Returns the backlog that this process can deliver now: while Redis is unavailable, that of the
   * fallback.
   */
  Backlog deliverableBacklog() {
    var failoverSpool = failover;
    var walSpool = wal;
    return failoverSpool == null || walSpool == null
        ? ports.backlog()
        : () ->
            failoverSpool.failoverStatus().primaryAvailable()
                ? ports.backlog().depth()
                : walSpool.depth();
  }

  /**
   * Moves the dead letters that an earlier release kept in the spool. Blocks.
   *
   * @param writer writes dead letters to their new place, and returns whether all are written
   * @throws RuntimeException when a spool is unavailable
   */
  void moveDeadLetters(Predicate<List<DeadLetter>> writer) {
    if (wal != null) {
      boolean _ = wal.moveDeadLetters(writer);
    }
    if (redis != null) {
      boolean _ = redis.moveDeadLetters(writer);
    }
  }

  /** Returns the write-ahead log; null when {@code sluice.spool} is redis. */
  @Nullable WalSpool wal() {
    return wal;
  }

  /** Returns the failover of Redis; null unless {@code sluice.spool} is redis-then-wal. */
  @Nullable FailoverSpool failover() {
    return failover;
  }

  /**
   * Creates the consumers of the delivery workers, by the name of the worker. Call it once. The
   * write-ahead log has a consumer in any case, because no other process can deliver it.
   *
   * @param workers delivery workers of each shard of Redis
   */
  SequencedMap<String, SpoolConsumer> consumers(int workers) {
    var consumersByWorker = new LinkedHashMap<String, SpoolConsumer>();
    if (redis != null) {
      for (int shard = 0; shard < shards; shard++) {
        var shardLocks = new ExclusiveRedeliveryConsumer.ShardLocks();
        for (int worker = 0; worker < workers; worker++) {
          consumersByWorker.put(
              shard + "-" + worker,
              new ExclusiveRedeliveryConsumer(redis.newConsumer(shard, worker), shardLocks));
        }
      }
    }
    if (wal != null) {
      consumersByWorker.put(
          WAL_WORKER, wal.newConsumer(failover == null ? null : failover.duplicateCheck()));
    }
    return consumersByWorker;
  }

  @Override
  public void start() {
    if (failover != null) {
      failover.start();
    }
    running = true;
  }

  @Override
  public void stop() {
    running = false;
  }

  @Override
  public boolean isRunning() {
    return running;
  }

  @Override
  public int getPhase() {
    return PHASE;
  }

  @Override
  public void close() {
    if (failover != null) {
      failover.close();
    }
    if (wal != null) {
      wal.close();
    }
    if (redis != null) {
      redis.close();
    }
  }
}
