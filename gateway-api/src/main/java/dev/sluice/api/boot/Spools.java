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
final class Spools implements SmartLifecycle, AutoCloseable {

  /** Below delivery's: started before it, stopped after it. */
  private static final int PHASE = -1;

  /** Begins the ids of dead letters that are in the log while it stands in. */
  private static final String OF_WAL = "wal-";

  /** The worker of the write-ahead log. */
  static final String WAL = "wal";

  /** Also when delivery has used up the budget: other processes may be waiting for these logs. */
  private static final Duration LAST_CHANCE = Duration.ofSeconds(1);

  private final @Nullable RedisSpool redis;
  private final int shards;
  private final @Nullable WalSpool wal;
  private final @Nullable FailoverSpool failover;
  private final Ports ports;
  private final ShutdownBudget budget;
  private volatile boolean running;

  private record Ports(
      Spool spool, IdempotencyStore keys, Backlog backlog, DeadLetterQueue deadLetterQueue) {}

  private Spools(
      @Nullable RedisSpool redis,
      int shards,
      @Nullable WalSpool wal,
      @Nullable FailoverSpool failover,
      Ports ports,
      ShutdownBudget budget) {
    this.redis = redis;
    this.shards = shards;
    this.wal = wal;
    this.failover = failover;
    this.ports = ports;
    this.budget = budget;
  }

  static Spools redis(RedisSpool.Settings settings, InstantSource clock, ShutdownBudget budget) {
    var redis = new RedisSpool(settings, clock);
    var ports = new Ports(redis, redis, redis, redis.deadLetters());
    return new Spools(redis, settings.shards(), null, null, ports, budget);
  }

  /**
   * @throws WalUnusable when its folder cannot be used
   */
  static Spools wal(WalSpool.Settings settings, InstantSource clock, ShutdownBudget budget) {
    var wal = open(settings, clock);
    return new Spools(null, 0, wal, null, new Ports(wal, wal, wal, wal.deadLetters()), budget);
  }

  /**
   * @throws WalUnusable when the log's folder cannot be used
   */
  static Spools redisThenWal(
      RedisSpool.Settings first,
      WalSpool.Settings second,
      FailoverSpool.FailoverSettings settings,
      Scheduler scheduler,
      TimeoutScheduler timeoutScheduler,
      InstantSource clock,
      ShutdownBudget budget) {
    var wal = open(second, clock); // first, since it is the one that may refuse
    var redis = new RedisSpool(first, clock);
    var failover =
        new FailoverSpool(
            new FailoverSpool.SpoolTarget("Redis", redis, redis, redis, redis.deadLetters()),
            new FailoverSpool.SpoolTarget("the write-ahead log", wal, wal, wal, wal.deadLetters()),
            wal.newConsumer(),
            settings,
            scheduler,
            timeoutScheduler,
            clock);
    var ports = new Ports(failover, failover, failover, failover.deadLetters(OF_WAL));
    return new Spools(redis, first.shards(), wal, failover, ports, budget);
  }

  private static WalSpool open(WalSpool.Settings settings, InstantSource clock) {
    try {
      return WalSpool.open(settings, clock);
    } catch (IOException e) {
      throw new WalUnusable(e);
    }
  }

  Spool spool() {
    return ports.spool();
  }

  IdempotencyStore keys() {
    return ports.keys();
  }

  Backlog backlog() {
    return ports.backlog();
  }

  /**
   * Of what this process can deliver now: while Redis is away, of the log that stands in for it.
   */
  Backlog deliverable() {
    var standIn = failover;
    var log = wal;
    return standIn == null || log == null
        ? ports.backlog()
        : () -> standIn.failoverStatus().firstTakesLogs() ? ports.backlog().depth() : log.depth();
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
  SequencedMap<String, SpoolConsumer> deliveries(int workers) {
    var sources = new LinkedHashMap<String, SpoolConsumer>();
    if (redis != null) {
      for (int shard = 0; shard < shards; shard++) {
        var turns = new ExclusiveRedeliveryConsumer.ShardLocks();
        for (int worker = 0; worker < workers; worker++) {
          sources.put(
              shard + "-" + worker,
              new ExclusiveRedeliveryConsumer(redis.newConsumer(shard, worker), turns));
        }
      }
    }
    if (failover != null) {
      sources.put(WAL, failover.fallbackConsumer());
    } else if (wal != null) {
      sources.put(WAL, wal.newConsumer());
    }
    return sources;
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
      var left = budget.remaining();
      failover.drain(left.compareTo(LAST_CHANCE) < 0 ? LAST_CHANCE : left);
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
