package dev.sluice.redis;

import static dev.sluice.redis.Script.number;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.DeadLetterQueue;
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
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.ObjLongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The spool on Redis Streams, from Redis 6.2 on. Owns the Redis client, also of the {@link
 * #newConsumer} made here.
 *
 * <p>Each shard is a stream {@code {prefix:shard}:logs}, read by one consumer group. Entries have
 * the fields {@code n}, records, {@code d}, the day of their receipt since 1970 in UTC, {@code e},
 * an {@link LogBatchCodec}, and {@code a} when they may be stored already. Beside it, with the same
 * beginning, are {@code ledger}, the counts that cannot be had by counting; {@code appends} and
 * {@code appends:entries}, what was appended in the last minutes, and as long as these are not more
 * than 200,000, for up to a day, what waits, is younger than an entry that waits, or was appended
 * before a silence; {@code keys} and {@code keys:age}, the idempotency keys; {@code dead}, the dead
 * letters. Appends are forgotten when entries are settled: a full Redis drains of them too.
 *
 * <p>An append whose outcome is not known is sent again as it was, to the same shard, which knows
 * it by its append id. What Redis has refused is not.
 *
 * <p>Nothing is asked of Redis before it is needed, so that the application starts without it; once
 * it is back, so is the spool. Safe for use by many threads.
 */
public final class RedisSpool implements Spool, IdempotencyStore, Backlog, AutoCloseable {

  /**
   * What the spool needs to know.
   *
   * @param url as Lettuce reads it, such as {@code redis://user:password@host:6379/0}, {@code
   *     rediss://} for TLS
   * @param shards streams, each with a consumer of its own for every worker of a delivering process
   * @param prefix what all keys begin with, so that gateways can share a Redis
   * @param group the consumer group
   * @param instance this process among the consumers of the group; the same after a restart where
   *     possible, so that what was under way goes on at once
   * @param deliveryLimits of one delivery
   * @param deadLetters that each shard keeps at most, at least 1; deliveries with more refused
   *     records wait
   * @param consumerIdleTimeout when a silent consumer counts as dead and its entries are taken
   *     over; longer than the store ever takes with one delivery
   * @param commandTimeout how long Redis may take for one answer
   * @param appendSettings how far an append goes to be safe, and what is remembered of it
   */
  public record Settings(
      String url,
      int shards,
      String prefix,
      String group,
      String instance,
      SpoolConsumer.DeliveryLimits deliveryLimits,
      int deadLetters,
      Duration consumerIdleTimeout,
      Duration commandTimeout,
      AppendSettings appendSettings) {

    public Settings {
      if (shards < 1) {
        throw new IllegalArgumentException("shards is " + shards + ", must be positive");
      }
      if (deadLetters < 1) {
        throw new IllegalArgumentException("dead-letters is " + deadLetters + ", must be positive");
      }
      requireName("prefix", prefix);
      requireName("group", group);
      requireName("instance", instance);
      requireMillisecond("consumer-idle-timeout", consumerIdleTimeout);
      requireMillisecond("command-timeout", commandTimeout);
      try {
        var _ = RedisURI.create(url);
      } catch (IllegalArgumentException _) {
        // its message would hold the url, and the url may hold a password
        throw new IllegalArgumentException("the url of Redis cannot be read");
      }
    }

    /** What holds when nothing else is said: one shard, keys and group {@code sluice}. */
    public static Settings of(String url, String instance) {
      return new Settings(
          url,
          1,
          "sluice",
          "sluice",
          instance,
          SpoolConsumer.DeliveryLimits.DEFAULT,
          100_000,
          Duration.ofMinutes(2),
          Duration.ofSeconds(5),
          AppendSettings.DEFAULT);
    }

    private static void requireName(String name, String value) {
      if (value.isBlank() || value.indexOf('{') >= 0 || value.indexOf('}') >= 0) {
        throw new IllegalArgumentException(
            name + " is '" + value + "', must be a name without braces");
      }
    }

    private static void requireMillisecond(String name, Duration value) {
      if (value.toMillis() < 1) {
        throw new IllegalArgumentException(name + " is " + value + ", at least 1 ms");
      }
    }

    /** Without the url, which may hold a password. */
    @Override
    public String toString() {
      return "Settings[shards=%d, prefix=%s, group=%s, instance=%s, %s, deadLetters=%d, claimIdle=%s, commandTimeout=%s, %s]"
          .formatted(
              shards,
              prefix,
              group,
              instance,
              deliveryLimits,
              deadLetters,
              consumerIdleTimeout,
              commandTimeout,
              appendSettings);
    }
  }

  /**
   * How far an append goes to be safe, and what is remembered of it.
   *
   * @param replicas that must have an append before it counts as safe
   * @param timeout for how long an append whose outcome is not known is tried again; the last try
   *     may take its {@code commandTimeout} after that
   * @param idempotencyKeys idempotency keys remembered in each shard; the oldest is forgotten first
   * @param idempotencyRetention how long a key is remembered
   */
  public record AppendSettings(
      int replicas, Duration timeout, int idempotencyKeys, Duration idempotencyRetention) {
    /** An append is remembered longer than anybody tries it, by a wide margin. */
    private static final Duration MIN_DEDUP_RETENTION = Duration.ofMinutes(2);

    private static final int DEDUP_RETENTION_FACTOR = 10;

    /** No replica, ten seconds, a million keys, a day. */
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
      Settings.requireMillisecond("append-timeout", timeout);
      Settings.requireMillisecond("idempotency-retention", idempotencyRetention);
    }

    /** For how long an append is remembered at least. */
    Duration dedupRetention() {
      var retention = timeout.multipliedBy(DEDUP_RETENTION_FACTOR);
      return retention.compareTo(MIN_DEDUP_RETENTION) > 0 ? retention : MIN_DEDUP_RETENTION;
    }
  }

  /**
   * Appends of a shard at which none is remembered for longer than it must be. They take some 40 MB
   * then, and are those of several minutes under heavy load.
   */
  static final int MAX_EXTENDED_DEDUP_APPENDS = 200_000;

  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(2);
  private static final Duration RECONNECT_DELAY = Duration.ofMillis(500);
  private static final Duration STATUS_TIMEOUT = Duration.ofSeconds(1);
  private static final int MAX_QUEUED_COMMANDS = 10_000;
  private static final Duration RETRY_DELAY = Duration.ofMillis(100);

  /** A letter is younger than its entry but for steps of the clock. */
  private static final Duration MAX_CLOCK_STEP = Duration.ofHours(1);

  private static final List<String> TRANSIENT_ERRORS =
      List.of("LOADING", "READONLY", "MASTERDOWN", "BUSY", "CLUSTERDOWN", "TRYAGAIN");

  private static final Executor RETRY_EXECUTOR =
      CompletableFuture.delayedExecutor(RETRY_DELAY.toMillis(), TimeUnit.MILLISECONDS);

  private static final byte[] APPENDED_FIELD = "appended".getBytes(UTF_8);
  private static final byte[] SETTLED_FIELD = "settled".getBytes(UTF_8);
  private static final byte[] STREAM_START = {'-'};

  private static final Duration RETRY_AFTER_UNREACHABLE = Duration.ofSeconds(1);
  private static final Duration RETRY_AFTER_ERROR_REPLY = Duration.ofSeconds(5);

  private final Settings settings;
  private final InstantSource clock;
  private final ClientResources resources;
  private final RedisClient client;
  private final RedisURI uri;
  private final List<ShardKeys> shards;
  private final RedisConnection appendConnection;

  /** Of its own, so that an impatient question cannot end appends that are under way. */
  private final RedisConnection queryConnection;

  private final RedisIdempotencyStore idempotencyStore;

  /** The last append was; between two of them Redis looks as if there were room for one. */
  private volatile boolean refusedForMemory;

  private volatile boolean closed;

  /**
   * @param clock tells the age of entries, whose ids are Redis's own time
   */
  public RedisSpool(Settings settings, InstantSource clock) {
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
  }

  private static ClientOptions options() {
    return ClientOptions.builder()
        .protocolVersion(ProtocolVersion.RESP2) // one shape of replies from 6.2 on
        // asked for on another thread, it lets a connection count as made before it takes commands
        .maintNotificationsConfig(MaintNotificationsConfig.disabled())
        // fails what is under way when the connection ends, as well as what comes after: when to
        // send again is decided here
        .disconnectedBehavior(DisconnectedBehavior.REJECT_COMMANDS)
        .requestQueueSize(MAX_QUEUED_COMMANDS)
        .socketOptions(
            SocketOptions.builder().connectTimeout(CONNECT_TIMEOUT).keepAlive(true).build())
        .build();
  }

  @Override
  public CompletionStage<AppendResult> append(LogBatch batch, AppendMode mode) {
    // by its id and not in turns: whoever appends the batch again must come to the same shard
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
    var arguments = new ArrayList<byte[]>();
    arguments.add(RedisIdempotencyStore.bytes(batch.appendId()));
    arguments.add(number(batch.day().toEpochDay()));
    arguments.add(number(batch.records()));
    arguments.add(LogBatchCodec.encode(batch));
    arguments.add(number(mode == AppendMode.POSSIBLE_DUPLICATE ? 1 : 0));
    arguments.addAll(claim);
    byte[][] redisKeys = {
      shard.stream(),
      shard.ledger(),
      shard.appends(),
      shard.appendEntries(),
      shard.keys(),
      shard.keyAges()
    };
    byte[][] scriptArguments = arguments.toArray(byte[][]::new);
    return retryUntilOutcomeKnown(
            redis ->
                Script.APPEND
                    .<byte[]>run(redis, redisKeys, scriptArguments)
                    .thenCompose(id -> awaitReplicas(redis, id)))
        .handle(
            (id, failure) -> {
              if (failure != null) {
                return onAppendFailed(failure);
              }
              return id == null ? new AppendResult.ClaimLost() : onAppended(shard, id);
            });
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
                    "%d of %d replicas have it".formatted(acknowledged, replicas), null);
              }
              return id;
            });
  }

  /**
   * Sends a step that may be repeated, again when it is not known whether it has happened, until
   * that is known or the time is over.
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

  /** Whether Redis says that it cannot say: it is on its way up, or another has taken its place. */
  private static boolean isTransient(Throwable failure) {
    var message = String.valueOf(RedisConnection.cause(failure).getMessage());
    return TRANSIENT_ERRORS.stream().anyMatch(message::contains);
  }

  private AppendResult onAppended(ShardKeys shard, byte[] id) {
    refusedForMemory = false;
    return new AppendResult.Accepted(new Receipt(shard.number(), StreamEntryId.of(id).toString()));
  }

  private AppendResult onAppendFailed(Throwable failure) {
    var reason = RedisConnection.reason(failure, settings.commandTimeout());
    refusedForMemory = reason.contains("OOM");
    return new AppendResult.Unavailable(retryAfter(failure), reason);
  }

  static Duration retryAfter(Throwable failure) {
    return RedisConnection.isErrorReply(failure)
        ? RETRY_AFTER_ERROR_REPLY
        : RETRY_AFTER_UNREACHABLE;
  }

  /** Deliveries of one shard for the first worker, see {@link #newConsumer(int, int)}. */
  public RedisSpoolConsumer newConsumer(int shard) {
    return newConsumer(shard, 0);
  }

  /**
   * Deliveries of one shard, with a connection of their own that is made when first needed.
   *
   * @param shard from 0
   * @param worker from 0; each is a consumer of its own, the same after a restart
   */
  public RedisSpoolConsumer newConsumer(int shard, int worker) {
    return new RedisSpoolConsumer(
        settings, shards.get(shard), worker, new RedisConnection(client, uri));
  }

  /** The dead letters of all shards, with a connection of their own that is made when needed. */
  public DeadLetterQueue deadLetters() {
    return new RedisDeadLetterQueue(settings, shards, new RedisConnection(client, uri));
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
  public CompletionStage<DeliveryStatus> statusOf(Receipt receipt, LogId firstId, int records) {
    if (receipt.shard() < 0 || receipt.shard() >= shards.size()) {
      return CompletableFuture.completedStage(
          new DeliveryStatus.Unknown("there is no shard " + receipt.shard() + " any more"));
    }
    byte[] entry = receipt.entryId().getBytes(UTF_8);
    long since = Math.max(0, StreamEntryId.of(entry).millis() - MAX_CLOCK_STEP.toMillis());
    return statusOf(
            shards.get(receipt.shard()),
            0,
            new StreamEntryId(since, 0).text(),
            entry,
            firstId.toHex().getBytes(UTF_8),
            firstId.plus(records - 1).toHex().getBytes(UTF_8))
        .exceptionally(
            failure ->
                new DeliveryStatus.Unknown(
                    RedisConnection.reason(failure, settings.commandTimeout())));
  }

  private CompletableFuture<DeliveryStatus> statusOf(
      ShardKeys shard, int before, byte[] from, byte[] entry, byte[] firstId, byte[] lastId) {
    return queryConnection
        .<List<Object>>send(
            settings.commandTimeout(),
            redis ->
                Script.STATUS.run(
                    redis,
                    new byte[][] {shard.stream(), shard.dead()},
                    entry,
                    firstId,
                    lastId,
                    from,
                    settings.group().getBytes(UTF_8)))
        .thenCompose(
            reply -> {
              long state = (Long) reply.get(0);
              int dead = before + Math.toIntExact((Long) reply.get(1));
              byte[] next = (byte[]) reply.get(2);
              if (state == 2 && next.length > 0) {
                return statusOf(shard, dead, next, entry, firstId, lastId);
              }
              DeliveryStatus status =
                  state == 1
                      ? new DeliveryStatus.Pending()
                      : state == 2
                          ? new DeliveryStatus.Delivered(dead)
                          : new DeliveryStatus.Unknown("Redis has lost entries");
              return CompletableFuture.completedFuture(status);
            });
  }

  /** What is known of one shard or of all: records appended and not settled, and settled. */
  private record LedgerCounts(long pendingRecords, long deliveredRecords) {
    static final LedgerCounts NONE = new LedgerCounts(0, 0);

    LedgerCounts plus(LedgerCounts other) {
      return new LedgerCounts(
          pendingRecords + other.pendingRecords, deliveredRecords + other.deliveredRecords);
    }
  }

  @Override
  public CompletionStage<SpoolStatus> spoolStatus() {
    return queryConnection
        .send(
            STATUS_TIMEOUT,
            redis -> {
              var info = redis.async().info().toCompletableFuture();
              return counts(redis)
                  .exceptionally(_ -> LedgerCounts.NONE) // INFO says why
                  .thenCombine(info, this::condition);
            })
        .exceptionally(
            failure ->
                new SpoolStatus(RedisConnection.reason(failure, STATUS_TIMEOUT), null, 0, 0));
  }

  private CompletableFuture<LedgerCounts> counts(StatefulRedisConnection<byte[], byte[]> redis) {
    var sum = CompletableFuture.completedFuture(LedgerCounts.NONE);
    for (var shard : shards) { // all are sent at once
      var counts =
          redis
              .async()
              .hmget(shard.ledger(), APPENDED_FIELD, SETTLED_FIELD)
              .toCompletableFuture()
              .thenApply(
                  fields -> {
                    long appended = longValue(fields.get(0));
                    long settled = longValue(fields.get(1));
                    return new LedgerCounts(Math.max(0, appended - settled), settled);
                  });
      sum = sum.thenCombine(counts, LedgerCounts::plus);
    }
    return sum;
  }

  private static long longValue(KeyValue<byte[], byte[]> field) {
    return field.hasValue() ? Long.parseLong(new String(field.getValue(), UTF_8)) : 0;
  }

  private SpoolStatus condition(LedgerCounts counts, String info) {
    var redis = RedisServerInfo.parse(info);
    return new SpoolStatus(
        redis.unavailableReason(refusedForMemory).orElse(null),
        redis.notDurableReason(settings.appendSettings().replicas()).orElse(null),
        counts.pendingRecords(),
        counts.deliveredRecords());
  }

  @Override
  public SortedMap<LocalDate, RecordCounts> recordCounts(LocalDate from) {
    var days = new TreeMap<LocalDate, RecordCounts>();
    for (var shard : shards) {
      Map<byte[], byte[]> ledger =
          queryConnection.callUninterruptibly(
              settings.commandTimeout(),
              redis -> redis.async().hgetall(shard.ledger()).toCompletableFuture());
      ledger.forEach((field, count) -> tally(field, count, days));
      countByDay(
          shard.stream(),
          0,
          (day, n) -> days.merge(day, new RecordCounts(0, n, 0, 0, 0), RecordCounts::plus));
      countByDay(
          shard.dead(),
          1,
          (day, n) -> days.merge(day, new RecordCounts(0, 0, n, 0, 0), RecordCounts::plus));
    }
    return new TreeMap<>(days.tailMap(from));
  }

  /**
   * {@inheritDoc}
   *
   * <p>Older releases counted in the field {@code accepted}, without a day. Where that is, the
   * first day that is counted by itself is the day of the upgrade and mixed.
   */
  @Override
  public LocalDate countsCompleteSince() {
    boolean mixed = false;
    var first = clock.instant().atOffset(ZoneOffset.UTC).toLocalDate();
    for (var shard : shards) {
      List<byte[]> fields =
          queryConnection.callUninterruptibly(
              settings.commandTimeout(),
              redis -> redis.async().hkeys(shard.ledger()).toCompletableFuture());
      for (var field : fields) {
        var name = new String(field, UTF_8);
        if (name.equals("accepted")) {
          mixed = true;
        } else if (name.startsWith("accepted:")) {
          var day = dayOf(name);
          first = day.isBefore(first) ? day : first;
        }
      }
    }
    return mixed ? first.plusDays(1) : first;
  }

  private static LocalDate dayOf(String field) {
    return LocalDate.ofEpochDay(Long.parseLong(field.substring(field.indexOf(':') + 1)));
  }

  private static void tally(byte[] field, byte[] count, Map<LocalDate, RecordCounts> days) {
    var name = new String(field, UTF_8);
    int colon = name.indexOf(':');
    if (colon < 0) {
      return; // over all days
    }
    var day = dayOf(name);
    long n = Long.parseLong(new String(count, UTF_8));
    switch (name.substring(0, colon)) {
      case "accepted" -> days.merge(day, new RecordCounts(n, 0, 0, 0, 0), RecordCounts::plus);
      case "purged" -> days.merge(day, new RecordCounts(0, 0, 0, n, 0), RecordCounts::plus);
      default -> {} // of a later release
    }
  }

  /** Counts the records of a stream by day; an entry that does not say has {@code unsaid}. */
  private void countByDay(byte[] stream, int defaultRecords, ObjLongConsumer<LocalDate> consumer) {
    byte[] from = STREAM_START;
    while (true) {
      byte[] begin = from;
      List<Object> page =
          queryConnection.callUninterruptibly(
              settings.commandTimeout(),
              redis ->
                  Script.COUNT_BY_DAY.run(
                      redis, new byte[][] {stream}, begin, number(defaultRecords)));
      for (int i = 1; i < page.size(); i += 2) {
        consumer.accept(LocalDate.ofEpochDay((Long) page.get(i)), (Long) page.get(i + 1));
      }
      byte[] last = (byte[]) page.getFirst();
      if (last.length == 0) {
        return;
      }
      from = ("(" + new String(last, UTF_8)).getBytes(UTF_8);
    }
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

  /** Ends all connections, those of the deliveries too; appends under way are answered Busy. */
  @Override
  public void close() {
    closed = true;
    appendConnection.close();
    queryConnection.close();
    client.shutdown(0, 2, TimeUnit.SECONDS);
    var _ = resources.shutdown(0, 2, TimeUnit.SECONDS);
  }
}
