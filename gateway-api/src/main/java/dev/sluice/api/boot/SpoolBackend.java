package dev.sluice.api.boot;

import dev.sluice.core.delivery.ExclusiveRedeliveryConsumer;
import dev.sluice.core.failover.FailoverSpool;
import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.DeadLetterQueue;
import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.Scheduler;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.SpoolConsumer;
import dev.sluice.core.port.TimeoutScheduler;
import dev.sluice.redis.RedisSpool;
import dev.sluice.wal.WalSpool;
import java.io.IOException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.LinkedHashMap;
import java.util.SequencedMap;
import org.jspecify.annotations.Nullable;
import org.springframework.context.SmartLifecycle;

/**
 * What stands behind the ports of the spool, by {@code sluice.spool}: Redis, the write-ahead log,
 * or the one with the other to stand in for it. It is begun before everybody who uses it, and after
 * the last delivery gives back what the stand-in still has.
 */
final class SpoolBackend implements SmartLifecycle, AutoCloseable {

  /** Below delivery's: started before it, stopped after it. */
  private static final int PHASE = -1;

  /** Begins the ids of dead letters that are in the log while it stands in. */
  private static final String WAL_ID_PREFIX = "wal-";

  /** The worker of the write-ahead log. */
  static final String WAL_WORKER = "wal";

  /** Also when delivery has used up the budget: other processes may be waiting for these logs. */
  private static final Duration MIN_DRAIN_TIMEOUT = Duration.ofSeconds(1);

  private final @Nullable RedisSpool redis;
  private final int shards;
  private final @Nullable WalSpool wal;
  private final @Nullable FailoverSpool failover;
  private final SpoolPorts ports;
  private final ShutdownDeadline deadline;
  private volatile boolean running;

  private record SpoolPorts(
      Spool spool,
      IdempotencyStore idempotencyStore,
      Backlog backlog,
      DeadLetterQueue deadLetterQueue) {}

  private SpoolBackend(
      @Nullable RedisSpool redis,
      int shards,
      @Nullable WalSpool wal,
      @Nullable FailoverSpool failover,
      SpoolPorts ports,
      ShutdownDeadline deadline) {
    this.redis = redis;
    this.shards = shards;
    this.wal = wal;
    this.failover = failover;
    this.ports = ports;
    this.deadline = deadline;
  }

  static SpoolBackend redis(
      RedisSpool.Settings settings, InstantSource clock, ShutdownDeadline deadline) {
    var redis = new RedisSpool(settings, clock);
    var ports = new SpoolPorts(redis, redis, redis, redis.deadLetters());
    return new SpoolBackend(redis, settings.shards(), null, null, ports, deadline);
  }

  /**
   * @throws WalUnavailableException when its folder cannot be used
   */
  static SpoolBackend wal(
      WalSpool.Settings settings, InstantSource clock, ShutdownDeadline deadline) {
    var wal = openWal(settings, clock);
    return new SpoolBackend(
        null, 0, wal, null, new SpoolPorts(wal, wal, wal, wal.deadLetters()), deadline);
  }

  /**
   * @throws WalUnavailableException when the log's folder cannot be used
   */
  static SpoolBackend redisThenWal(
      RedisSpool.Settings redisSettings,
      WalSpool.Settings walSettings,
      FailoverSpool.FailoverSettings settings,
      Scheduler scheduler,
      TimeoutScheduler timeoutScheduler,
      InstantSource clock,
      ShutdownDeadline deadline) {
    var wal = openWal(walSettings, clock); // first, since it is the one that may refuse
    var redis = new RedisSpool(redisSettings, clock);
    var failover =
        new FailoverSpool(
            new FailoverSpool.SpoolTarget("Redis", redis, redis, redis, redis.deadLetters()),
            new FailoverSpool.SpoolTarget("the write-ahead log", wal, wal, wal, wal.deadLetters()),
            wal.newConsumer(),
            settings,
            scheduler,
            timeoutScheduler,
            clock);
    var ports = new SpoolPorts(failover, failover, failover, failover.deadLetters(WAL_ID_PREFIX));
    return new SpoolBackend(redis, redisSettings.shards(), wal, failover, ports, deadline);
  }

  private static WalSpool openWal(WalSpool.Settings settings, InstantSource clock) {
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
   * Of what this process can deliver now: while Redis is away, of the log that stands in for it.
   */
  Backlog deliverableBacklog() {
    var failoverSpool = failover;
    var walSpool = wal;
    return failoverSpool == null || walSpool == null
        ? ports.backlog()
        : () ->
            failoverSpool.failoverStatus().firstTakesLogs()
                ? ports.backlog().depth()
                : walSpool.depth();
  }

  DeadLetterQueue deadLetters() {
    return ports.deadLetterQueue();
  }

  /** Null where there is none. */
  @Nullable WalSpool wal() {
    return wal;
  }

  /** Null where nothing stands in for anything. */
  @Nullable FailoverSpool failover() {
    return failover;
  }

  /**
   * Where delivery workers get their logs, by the worker's name; asked once.
   *
   * @param workers of each shard
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
    if (failover != null) {
      consumersByWorker.put(WAL_WORKER, failover.fallbackConsumer());
    } else if (wal != null) {
      consumersByWorker.put(WAL_WORKER, wal.newConsumer());
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
    if (failover != null) {
      var remaining = deadline.remaining();
      failover.drain(remaining.compareTo(MIN_DRAIN_TIMEOUT) < 0 ? MIN_DRAIN_TIMEOUT : remaining);
    }
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
