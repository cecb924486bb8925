package dev.sluice.redis;

import static dev.sluice.redis.Script.number;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.codec.LogBatchCodec;
import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.ReplayId;
import dev.sluice.core.port.AppendResolver;
import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.DailyCounts;
import dev.sluice.core.port.DeliveryStatusReader;
import dev.sluice.core.port.FallbackCounts;
import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.SpoolConsumer;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.ClientOptions.DisconnectedBehavior;
import io.lettuce.core.KeyValue;
import io.lettuce.core.MaintNotificationsConfig;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.protocol.ProtocolVersion;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.Delay;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SortedMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * A spool on Redis Streams, for Redis 6.2 and later. Owns the Redis client, which its consumers
 * (see {@link #newConsumer}) use too.
 *
 * <p>Each shard is a stream {@code {prefix:shard}:logs}, read by one consumer group. A stream entry
 * has the fields {@code n}, the number of records; {@code d}, their receive day in days since 1970
 * in UTC; {@code e}, the batch as {@link LogBatchCodec} encodes it; and {@code a} when the records
 * may be in the store already. The other keys of a shard have the same prefix:
 *
 * <ul>
 *   <li>{@code ledger}: counts that cannot be computed from the entries.
 *   <li>{@code appends} and {@code appends:entries}: the ids of the appends of the last minutes.
 *       While there are at most 200,000 append ids, an id is retained for up to a day when its
 *       entry or an older entry is in the stream, or when its append is older than a pause without
 *       appends. Append ids are deleted when entries are acknowledged, so that a full Redis frees
 *       their memory too.
 *   <li>{@code keys} and {@code keys:age}: the idempotency keys.
 *   <li>{@code dead}: dead letters of an earlier release, see {@link #moveDeadLetters}.
 * </ul>
 *
 * <p>The hash {@code {prefix:fallbacks}} has the counts of each node's fallback.
 *
 * <p>An append whose outcome is unknown is sent again unchanged, to the same shard, which
 * recognizes it by its append id. An append that Redis has rejected is not sent again. {@link
 * #resolve} refuses an append id that Redis does not know.
 *
 * <p>The connection is opened at the first use, so that the application starts without Redis. The
 * spool is available again as soon as Redis is. Safe for use by many threads.
 */
public final class RedisSpool
    implements Spool,
        IdempotencyStore,
        DeliveryStatusReader,
        DailyCounts,
        Backlog,
        AppendResolver,
        FallbackCounts,
        AutoCloseable {

  /**
   * Settings of the spool.
   *
   * @param url the URL of Redis in the syntax of Lettuce, such as {@code
   *     redis://user:password@host:6379/0}, with {@code rediss://} for TLS
   * @param shards number of streams, at least 1; every delivery worker of a process has its own
   *     consumer in each stream
   * @param prefix the prefix of all keys, without braces, so that gateways can share a Redis
   * @param group the name of the consumer group, without braces
   * @param instance the name of this process among the consumers of the group, without braces;
   *     stable across restarts where possible, so that its pending deliveries resume immediately
   * @param deliveryLimits the size limits of one delivery
   * @param consumerIdleTimeout idle time after which a consumer counts as dead and other consumers
   *     claim its entries, at least 1 ms; longer than the store needs for any delivery
   * @param commandTimeout maximum time for one reply of Redis, at least 1 ms
   * @param appendSettings the settings of durability and deduplication of appends
   */
  public record RedisSpoolSettings(
      String url,
      int shards,
      String prefix,
      String group,
      String instance,
      SpoolConsumer.DeliveryLimits deliveryLimits,
      Duration consumerIdleTimeout,
      Duration commandTimeout,
      AppendSettings appendSettings) {

    public RedisSpoolSettings {
      if (shards < 1) {
        throw new IllegalArgumentException("shards is " + shards + ", must be positive");
      }
      requireName("prefix", prefix);
      requireName("group", group);
      requireName("instance", instance);
      requireMillisecond("consumer-idle-timeout", consumerIdleTimeout);
      requireMillisecond("command-timeout", commandTimeout);
      try {
        var _ = RedisURI.create(url);
      } catch (IllegalArgumentException _) {
        // the message of the original exception contains the URL, which may contain a password
        throw new IllegalArgumentException("the Redis URL is invalid");
      }
    }

    /** Returns the default settings: one shard, key prefix and group {@code sluice}. */
    public static RedisSpoolSettings of(String url, String instance) {
      return new RedisSpoolSettings(
          url,
          1,
          "sluice",
          "sluice",
          instance,
          SpoolConsumer.DeliveryLimits.DEFAULT,
          Duration.ofMinutes(2),
          Duration.ofSeconds(5),
          AppendSettings.DEFAULT);
    }

    private static void requireName(String name, String value) {
      if (value.isBlank() || value.indexOf('{') >= 0 || value.indexOf('}') >= 0) {
        throw new IllegalArgumentException(
            name + " is '" + value + "', must not be blank or contain braces");
      }
    }

    private static void requireMillisecond(String name, Duration value) {
      if (value.toMillis() < 1) {
        throw new IllegalArgumentException(name + " is " + value + ", must be at least 1 ms");
      }
    }

    /** Omits the URL, which may contain a password. */
    @Override
    public String toString() {
      return ("RedisSpoolSettings[shards=%d, prefix=%s, group=%s, instance=%s, %s,"
              + " consumerIdleTimeout=%s, commandTimeout=%s, %s]")
          .formatted(
              shards,
              prefix,
              group,
              instance,
              deliveryLimits,
              consumerIdleTimeout,
              commandTimeout,
              appendSettings);
    }
  }

  /**
   * Settings of the durability and deduplication of appends.
   *
   * @param replicas number of replicas that must confirm an append, at least 0
   * @param timeout time during which an append whose outcome is unknown is sent again, at least 1
   *     ms; the last attempt may take another {@code commandTimeout}
   * @param idempotencyKeys maximum number of idempotency keys in each shard, at least 1; the oldest
   *     key is deleted first
   * @param idempotencyRetention retention of an idempotency key, at least 1 ms
   */
  public record AppendSettings(
      int replicas, Duration timeout, int idempotencyKeys, Duration idempotencyRetention) {
    /** Lower bound of {@link #dedupRetention}; much longer than an append is sent again. */
    private static final Duration MIN_DEDUP_RETENTION = Duration.ofMinutes(2);

    private static final int DEDUP_RETENTION_FACTOR = 10;

    /** No replicas, timeout of 10 seconds, 1,000,000 keys, retention of one day. */
    public static final AppendSettings DEFAULT =
        new AppendSettings(0, Duration.ofSeconds(10), 1_000_000, Duration.ofDays(1));

    public AppendSettings {
      if (replicas < 0) {
        throw new IllegalArgumentException("replicas is " + replicas + ", must not be negative");
      }
      if (idempotencyKeys < 1) {
        throw new IllegalArgumentException(
            "idempotency-keys is " + idempotencyKeys + ", must be positive");
      }
      RedisSpoolSettings.requireMillisecond("append-timeout", timeout);
      RedisSpoolSettings.requireMillisecond("idempotency-retention", idempotencyRetention);
    }

    /** Returns the minimum retention of an append id: ten timeouts, at least two minutes. */
    Duration dedupRetention() {
      var retention = timeout.multipliedBy(DEDUP_RETENTION_FACTOR);
      return retention.compareTo(MIN_DEDUP_RETENTION) > 0 ? retention : MIN_DEDUP_RETENTION;
    }
  }

  /**
   * Maximum number of append ids of a shard with an extended retention. Above it every append id
   * has the minimum retention, which bounds the memory of the append ids.
   */
  static final int MAX_EXTENDED_DEDUP_APPENDS = 200_000;

  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(2);
  private static final Duration RECONNECT_DELAY = Duration.ofMillis(500);
  private static final Duration STATUS_TIMEOUT = Duration.ofSeconds(1);
  private static final int MAX_QUEUED_COMMANDS = 10_000;
  private static final Duration RETRY_DELAY = Duration.ofMillis(100);

  private static final List<String> TRANSIENT_ERRORS =
      List.of("LOADING", "READONLY", "MASTERDOWN", "BUSY", "CLUSTERDOWN", "TRYAGAIN");

  private static final Executor RETRY_EXECUTOR =
      CompletableFuture.delayedExecutor(RETRY_DELAY.toMillis(), TimeUnit.MILLISECONDS);

  /**
   * Encodes batches, and completes appends with all that depends on them, such as the responses to
   * clients. So the thread of the connection does nothing but Redis, and the threads of the
   * protocols compress nothing.
   */
  private static final Executor ENCODER =
      Executors.newThreadPerTaskExecutor(Thread.ofVirtual().name("redis-encoder-", 0).factory());

  private static final byte[] APPENDED_FIELD = "appended".getBytes(UTF_8);
  private static final byte[] SETTLED_FIELD = "settled".getBytes(UTF_8);
  private static final byte[] REFUSED = "refused".getBytes(UTF_8);

  private static final Duration RETRY_AFTER_UNREACHABLE = Duration.ofSeconds(1);
  private static final Duration RETRY_AFTER_ERROR_REPLY = Duration.ofSeconds(5);

  private final RedisSpoolSettings settings;
  private final InstantSource clock;
  private final ClientResources resources;
  private final RedisClient client;
  private final RedisURI uri;
  private final List<ShardKeys> shards;
  private final RedisConnection appendConnection;

  /** A separate connection: a query that times out closes it without failing appends in flight. */
  private final RedisConnection queryConnection;

  private final RedisIdempotencyStore idempotencyStore;
  private final DeadLetterMover deadLetterMover;
  private final RedisDailyCounts dailyCounts;
  private final RedisFallbackCounts fallbackCounts;

  /**
   * Whether Redis rejected the last append because its memory is full. Between two appends the
   * memory usage that Redis reports can be below the limit.
   */
  private volatile boolean rejectedForMemory;

  private volatile boolean closed;

  /**
   * @param clock the clock that gives the age of entries, whose ids contain the time of Redis
   */
  public RedisSpool(RedisSpoolSettings settings, InstantSource clock) {
    this.settings = settings;
    this.clock = clock;
    this.shards = ShardKeys.all(settings.prefix(), settings.shards());
    this.uri = RedisURI.create(settings.url());
    uri.setTimeout(settings.commandTimeout());
    if (uri.getClientName() == null) {
      uri.setClientName(settings.group());
    }
    this.resources =
        ClientResources.builder().reconnectDelay(Delay.constant(RECONNECT_DELAY)).build();
    this.client = RedisClient.create(resources);
    client.setOptions(options());
    this.appendConnection = new RedisConnection(client, uri);
    this.queryConnection = new RedisConnection(client, uri);
    this.idempotencyStore =
        new RedisIdempotencyStore(settings, shards, this::retryUntilOutcomeKnown);
    this.dailyCounts = new RedisDailyCounts(settings, shards, queryConnection, clock);
    this.fallbackCounts = new RedisFallbackCounts(settings, queryConnection);
    this.deadLetterMover = new DeadLetterMover(settings, shards, new RedisConnection(client, uri));
  }

  private static ClientOptions options() {
    return ClientOptions.builder()
        .protocolVersion(ProtocolVersion.RESP2) // the same reply format in all versions from 6.2 on
        // Lettuce requests these notifications on another thread: with them a connection would
        // count as open before it accepts commands
        .maintNotificationsConfig(MaintNotificationsConfig.disabled())
        // fails the commands in flight when the connection ends, and all commands until it is open
        // again: this class decides when to send a command again
        .disconnectedBehavior(DisconnectedBehavior.REJECT_COMMANDS)
        .requestQueueSize(MAX_QUEUED_COMMANDS)
        .socketOptions(
            SocketOptions.builder().connectTimeout(CONNECT_TIMEOUT).keepAlive(true).build())
        .build();
  }

  @Override
  public CompletionStage<AppendResult> append(LogBatch batch, AppendMode mode) {
    // the shard depends on the append id, so that a repeated append goes to the same shard
    var shard = shards.get(Math.floorMod(batch.appendId().hashCode(), shards.size()));
    return append(shard, batch, mode, List.of());
  }

  @Override
  public CompletionStage<AppendResult> append(LogBatch batch, Claim claim, AppendMode mode) {
    byte[] key = RedisIdempotencyStore.bytes(claim.key().digest());
    return append(
        idempotencyStore.shardOf(key),
        batch,
        mode,
        List.of(key, RedisIdempotencyStore.bytes(claim.owner())));
  }

  private CompletionStage<AppendResult> append(
      ShardKeys shard, LogBatch batch, AppendMode mode, List<byte[]> claim) {
    byte[][] redisKeys = {
      shard.stream(),
      shard.ledger(),
      shard.appends(),
      shard.appendEntries(),
      shard.keys(),
      shard.keyAges()
    };
    return CompletableFuture.supplyAsync(() -> appendArguments(batch, mode, claim), ENCODER)
        .thenCompose(
            arguments ->
                retryUntilOutcomeKnown(
                    redis ->
                        Script.APPEND
                            .<byte[]>run(redis, redisKeys, arguments)
                            .thenCompose(id -> awaitReplicas(redis, id))))
        .handleAsync(
            (id, failure) -> {
              if (failure != null) {
                return onAppendFailed(failure);
              }
              if (id == null) {
                return new AppendResult.ClaimLost();
              }
              return Arrays.equals(id, REFUSED)
                  ? new AppendResult.Refused()
                  : onAppended(shard, id);
            },
            ENCODER);
  }

  private static byte[][] appendArguments(LogBatch batch, AppendMode mode, List<byte[]> claim) {
    var arguments = new ArrayList<byte[]>();
    arguments.add(RedisIdempotencyStore.bytes(batch.appendId()));
    arguments.add(number(batch.day().toEpochDay()));
    arguments.add(number(batch.records()));
    arguments.add(LogBatchCodec.encode(batch));
    arguments.add(
        number(
            ReplayId.isReplay(batch.appendId())
                ? 2
                : mode == AppendMode.POSSIBLE_DUPLICATE ? 1 : 0));
    arguments.addAll(claim);
    return arguments.toArray(byte[][]::new);
  }

  /**
   * {@inheritDoc}
   *
   * <p>Asks all shards, one after the other: the shard of an append under a claim depends on its
   * key.
   */
  @Override
  public CompletionStage<ResolveResult> resolve(UUID appendId) {
    return resolve(RedisIdempotencyStore.bytes(appendId), 0);
  }

  private CompletableFuture<ResolveResult> resolve(byte[] appendId, int shardNumber) {
    var shard = shards.get(shardNumber);
    byte[][] redisKeys = {shard.stream(), shard.ledger(), shard.appends(), shard.appendEntries()};
    return queryConnection
        .send(
            settings.commandTimeout(),
            redis ->
                Script.RESOLVE
                    .<byte[]>run(redis, redisKeys, appendId)
                    .thenCompose(reply -> awaitReplicas(redis, reply)))
        .thenCompose(
            reply -> {
              if (reply == null) {
                return CompletableFuture.completedFuture(new ResolveResult.Undecided());
              }
              if (!Arrays.equals(reply, REFUSED)) {
                return CompletableFuture.completedFuture(
                    new ResolveResult.Known(receipt(shard, reply)));
              }
              return shardNumber + 1 < shards.size()
                  ? resolve(appendId, shardNumber + 1)
                  : CompletableFuture.completedFuture(new ResolveResult.Refused());
            });
  }

  private static Receipt receipt(ShardKeys shard, byte[] entryId) {
    return new Receipt(shard.number(), StreamEntryId.of(entryId).toString());
  }

  @Override
  public CompletionStage<ClaimResult> completeKey(UsedKey key) {
    return idempotencyStore.complete(key);
  }

  @Override
  public CompletionStage<Void> publish(String node, SortedMap<LocalDate, RecordCounts> counts) {
    return fallbackCounts.publish(node, counts);
  }

  @Override
  public SortedMap<LocalDate, RecordCounts> countsOfOtherNodes(String node, LocalDate from) {
    return fallbackCounts.countsOfOtherNodes(node, from);
  }

  private CompletableFuture<byte @Nullable []> awaitReplicas(
      StatefulRedisConnection<byte[], byte[]> redis, byte @Nullable [] id) {
    int replicas = settings.appendSettings().replicas();
    if (id == null || replicas == 0) {
      return CompletableFuture.completedFuture(id);
    }
    return redis
        .async()
        .waitForReplication(replicas, Math.max(1, settings.commandTimeout().toMillis() / 2))
        .toCompletableFuture()
        .thenApply(
            acknowledged -> {
              if (acknowledged < replicas) {
                throw new SpoolUnreachableException(
                    "%d of %d replicas have confirmed the append".formatted(acknowledged, replicas),
                    null);
              }
              return id;
            });
  }

  /**
   * Sends an idempotent step, and sends it again while its outcome is unknown. Fails when Redis
   * rejects the step, or when the outcome is still unknown at {@link AppendSettings#timeout}.
   */
  <T extends @Nullable Object> CompletableFuture<T> retryUntilOutcomeKnown(
      Function<StatefulRedisConnection<byte[], byte[]>, CompletableFuture<T>> step) {
    return attempt(step, System.nanoTime() + settings.appendSettings().timeout().toNanos(), false);
  }

  private <T extends @Nullable Object> CompletableFuture<T> attempt(
      Function<StatefulRedisConnection<byte[], byte[]>, CompletableFuture<T>> step,
      long deadline,
      boolean outcomeUnknown) {
    return appendConnection
        .send(settings.commandTimeout(), step)
        .exceptionallyCompose(
            failure -> {
              boolean retryable =
                  !RedisConnection.isNotExecuted(failure)
                      || outcomeUnknown && !RedisConnection.isErrorReply(failure)
                      || outcomeUnknown && isTransient(failure);
              return retryable && !closed && System.nanoTime() - deadline < 0
                  ? CompletableFuture.runAsync(() -> {}, RETRY_EXECUTOR)
                      .thenCompose(_ -> attempt(step, deadline, true))
                  : CompletableFuture.failedFuture(failure);
            });
  }

  /**
   * Whether the error reply leaves the outcome of an earlier attempt unknown: Redis is starting,
   * busy, or has become a replica.
   */
  private static boolean isTransient(Throwable failure) {
    var message = String.valueOf(RedisConnection.cause(failure).getMessage());
    return TRANSIENT_ERRORS.stream().anyMatch(message::contains);
  }

  private AppendResult onAppended(ShardKeys shard, byte[] id) {
    rejectedForMemory = false;
    return new AppendResult.Accepted(receipt(shard, id));
  }

  private AppendResult onAppendFailed(Throwable failure) {
    var reason = RedisConnection.reason(failure, settings.commandTimeout());
    rejectedForMemory = reason.contains("OOM");
    return new AppendResult.Unavailable(retryAfter(failure), reason);
  }

  static Duration retryAfter(Throwable failure) {
    return RedisConnection.isErrorReply(failure)
        ? RETRY_AFTER_ERROR_REPLY
        : RETRY_AFTER_UNREACHABLE;
  }

  /** Returns a consumer of one shard for the first worker, see {@link #newConsumer(int, int)}. */
  public RedisSpoolConsumer newConsumer(int shard) {
    return newConsumer(shard, 0);
  }

  /**
   * Returns a consumer of one shard, with its own connection that is opened at the first use.
   *
   * @param shard the shard, from 0
   * @param worker the worker, from 0; each worker has its own consumer name, stable across restarts
   */
  public RedisSpoolConsumer newConsumer(int shard, int worker) {
    return new RedisSpoolConsumer(
        settings, shards.get(shard), worker, new RedisConnection(client, uri));
  }

  /**
   * Moves the dead letters that an earlier release kept in Redis, and deletes those that are
   * written. Blocks.
   *
   * @param writer writes dead letters to their new place, and returns whether all are written
   * @return whether every dead letter that this release can decode is moved
   * @throws RuntimeException when Redis is unreachable
   */
  public boolean moveDeadLetters(Predicate<List<DeadLetter>> writer) {
    return deadLetterMover.move(writer);
  }

  @Override
  public CompletionStage<ClaimResult> claim(IdempotencyKey key) {
    return idempotencyStore.claim(key);
  }

  @Override
  public CompletionStage<Void> release(Claim claim) {
    return idempotencyStore.release(claim);
  }

  @Override
  public CompletionStage<DeliveryStatus> statusOf(Receipt receipt) {
    if (receipt.shard() < 0 || receipt.shard() >= shards.size()) {
      return CompletableFuture.completedStage(
          new DeliveryStatus.Unknown("shard " + receipt.shard() + " does not exist"));
    }
    byte[][] stream = {shards.get(receipt.shard()).stream()};
    return queryConnection
        .<Long>send(
            settings.commandTimeout(),
            redis ->
                Script.STATUS.run(
                    redis,
                    stream,
                    receipt.entryId().getBytes(UTF_8),
                    settings.group().getBytes(UTF_8)))
        .thenApply(RedisSpool::toDeliveryStatus)
        .exceptionally(
            failure ->
                new DeliveryStatus.Unknown(
                    RedisConnection.reason(failure, settings.commandTimeout())));
  }

  private static DeliveryStatus toDeliveryStatus(Long reply) {
    return reply == 1
        ? new DeliveryStatus.Pending()
        : reply == 2
            ? new DeliveryStatus.Delivered()
            : new DeliveryStatus.Unknown("Redis has lost entries");
  }

  /** Record counts of one shard or of all shards: not yet delivered, and delivered. */
  private record LedgerCounts(long pendingRecords, long deliveredRecords) {
    static final LedgerCounts NONE = new LedgerCounts(0, 0);

    LedgerCounts plus(LedgerCounts other) {
      return new LedgerCounts(
          pendingRecords + other.pendingRecords, deliveredRecords + other.deliveredRecords);
    }
  }

  @Override
  public CompletionStage<SpoolStatus> status() {
    return queryConnection
        .send(
            STATUS_TIMEOUT,
            redis -> {
              var info = redis.async().info().toCompletableFuture();
              return counts(redis)
                  .exceptionally(_ -> LedgerCounts.NONE) // the reply to INFO gives the reason
                  .thenCombine(info, this::toSpoolStatus);
            })
        .exceptionally(
            failure ->
                new SpoolStatus(RedisConnection.reason(failure, STATUS_TIMEOUT), null, 0, 0));
  }

  private CompletableFuture<LedgerCounts> counts(StatefulRedisConnection<byte[], byte[]> redis) {
    var sum = CompletableFuture.completedFuture(LedgerCounts.NONE);
    for (var shard : shards) { // the commands of all shards are in flight concurrently
      var counts =
          redis
              .async()
              .hmget(shard.ledger(), APPENDED_FIELD, SETTLED_FIELD)
              .toCompletableFuture()
              .thenApply(
                  fields -> {
                    long appended = longValue(fields.get(0));
                    long delivered = longValue(fields.get(1));
                    return new LedgerCounts(Math.max(0, appended - delivered), delivered);
                  });
      sum = sum.thenCombine(counts, LedgerCounts::plus);
    }
    return sum;
  }

  private static long longValue(KeyValue<byte[], byte[]> field) {
    return field.hasValue() ? Long.parseLong(new String(field.getValue(), UTF_8)) : 0;
  }

  private SpoolStatus toSpoolStatus(LedgerCounts counts, String info) {
    var redis = RedisServerInfo.parse(info);
    return new SpoolStatus(
        redis.unavailableReason(rejectedForMemory).orElse(null),
        redis.notDurableReason(settings.appendSettings().replicas()).orElse(null),
        counts.pendingRecords(),
        counts.deliveredRecords());
  }

  @Override
  public SortedMap<LocalDate, RecordCounts> recordCounts(LocalDate from) {
    return dailyCounts.recordCounts(from);
  }

  @Override
  public LocalDate countsCompleteSince() {
    return dailyCounts.countsCompleteSince();
  }

  @Override
  public Depth depth() {
    long entries = 0;
    var oldest = Duration.ZERO;
    for (var shard : shards) {
      List<Object> reply =
          queryConnection.callUninterruptibly(
              settings.commandTimeout(),
              redis -> Script.DEPTH.run(redis, new byte[][] {shard.stream()}));
      entries += (Long) reply.get(0);
      if (reply.size() > 1 && reply.get(1) instanceof byte[] id) {
        var age =
            Duration.between(Instant.ofEpochMilli(StreamEntryId.of(id).millis()), clock.instant());
        oldest = age.compareTo(oldest) > 0 ? age : oldest;
      }
    }
    return new Depth(entries, oldest);
  }

  /**
   * Closes all connections, including those of the consumers. Appends in flight complete with
   * {@link AppendResult.Unavailable}.
   */
  @Override
  public void close() {
    closed = true;
    appendConnection.close();
    queryConnection.close();
    client.shutdown(0, 2, TimeUnit.SECONDS);
    var _ = resources.shutdown(0, 2, TimeUnit.SECONDS);
  }
}
