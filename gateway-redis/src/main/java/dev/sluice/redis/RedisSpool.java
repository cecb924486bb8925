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
 * #deliveries} made here.
 *
 * <p>Each shard is a stream {@code {prefix:shard}:logs}, read by one consumer group. Entries have
 * the fields {@code n}, records, {@code d}, the day of their receipt since 1970 in UTC, {@code e},
 * an {@link Envelope}, and {@code a} when they may be stored already. Beside it, with the same
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
   * @param bounds of one delivery
   * @param deadLetters that each shard keeps at most, at least 1; deliveries with more refused
   *     records wait
   * @param claimIdle when a silent consumer counts as dead and its entries are taken over; longer
   *     than the store ever takes with one delivery
   * @param commandTimeout how long Redis may take for one answer
   * @param appending how far an append goes to be safe, and what is remembered of it
   */
  public record Settings(
      String url,
      int shards,
      String prefix,
      String group,
      String instance,
      SpoolConsumer.DeliveryLimits bounds,
      int deadLetters,
      Duration claimIdle,
      Duration commandTimeout,
      Appending appending) {

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
      requireMillisecond("claim-idle", claimIdle);
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
          Appending.DEFAULT);
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
              bounds,
              deadLetters,
              claimIdle,
              commandTimeout,
              appending);
    }
  }

  /**
   * How far an append goes to be safe, and what is remembered of it.
   *
   * @param replicas that must have an append before it counts as safe
   * @param within for how long an append whose outcome is not known is tried again; the last try
   *     may take its {@code commandTimeout} after that
   * @param keys idempotency keys remembered in each shard; the oldest is forgotten first
   * @param keyRetention how long a key is remembered
   */
  public record Appending(int replicas, Duration within, int keys, Duration keyRetention) {
    /** An append is remembered longer than anybody tries it, by a wide margin. */
    private static final Duration REMEMBER_AT_LEAST = Duration.ofMinutes(2);

    private static final int REMEMBER_TIMES = 10;

    /** No replica, ten seconds, a million keys, a day. */
    public static final Appending DEFAULT =
        new Appending(0, Duration.ofSeconds(10), 1_000_000, Duration.ofDays(1));

    public Appending {
      if (replicas < 0) {
        throw new IllegalArgumentException("replicas is " + replicas + ", must not be negative");
      }
      if (keys < 1) {
        throw new IllegalArgumentException("idempotency-keys is " + keys + ", must be positive");
      }
      Settings.requireMillisecond("append-within", within);
      Settings.requireMillisecond("idempotency-retention", keyRetention);
    }

    /** For how long an append is remembered at least. */
    Duration remembered() {
      var times = within.multipliedBy(REMEMBER_TIMES);
      return times.compareTo(REMEMBER_AT_LEAST) > 0 ? times : REMEMBER_AT_LEAST;
    }
  }

  /**
   * Appends of a shard at which none is remembered for longer than it must be. They take some 40 MB
   * then, and are those of several minutes under heavy load.
   */
  static final int REMEMBERED_LONGER = 200_000;

  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(2);
  private static final Duration RECONNECT_DELAY = Duration.ofMillis(500);
  private static final Duration ANSWER_SOON = Duration.ofSeconds(1);
  private static final int MAX_COMMANDS = 10_000;
  private static final Duration PAUSE = Duration.ofMillis(100);

  /** A letter is younger than its entry but for steps of the clock. */
  private static final Duration CLOCK_STEP = Duration.ofHours(1);

  private static final List<String> PASSING =
      List.of("LOADING", "READONLY", "MASTERDOWN", "BUSY", "CLUSTERDOWN", "TRYAGAIN");

  private static final Executor AGAIN =
      CompletableFuture.delayedExecutor(PAUSE.toMillis(), TimeUnit.MILLISECONDS);

  private static final byte[] APPENDED = "appended".getBytes(UTF_8);
  private static final byte[] SETTLED = "settled".getBytes(UTF_8);
  private static final byte[] FROM_THE_START = {'-'};

  private static final Duration WHEN_BACK = Duration.ofSeconds(1);
  private static final Duration WHEN_BETTER = Duration.ofSeconds(5);

  private final Settings settings;
  private final InstantSource clock;
  private final ClientResources resources;
  private final RedisClient client;
  private final RedisURI uri;
  private final List<Shard> shards;
  private final Connection appends;

  /** Of its own, so that an impatient question cannot end appends that are under way. */
  private final Connection questions;

  private final RedisIdempotencyKeys keys;

  /** The last append was; between two of them Redis looks as if there were room for one. */
  private volatile boolean refusedForMemory;

  private volatile boolean closed;

  /**
   * @param clock tells the age of entries, whose ids are Redis's own time
   */
  public RedisSpool(Settings settings, InstantSource clock) {
    this.settings = settings;
    this.clock = clock;
    this.shards = Shard.all(settings.prefix(), settings.shards());
    this.uri = RedisURI.create(settings.url());
    uri.setTimeout(settings.commandTimeout());
    if (uri.getClientName() == null) {
      uri.setClientName(settings.group());
    }
    this.resources =
        ClientResources.builder().reconnectDelay(Delay.constant(RECONNECT_DELAY)).build();
    this.client = RedisClient.create(resources);
    client.setOptions(options());
    this.appends = new Connection(client, uri);
    this.questions = new Connection(client, uri);
    this.keys = new RedisIdempotencyKeys(settings, shards, this::untilKnown);
  }

  private static ClientOptions options() {
    return ClientOptions.builder()
        .protocolVersion(ProtocolVersion.RESP2) // one shape of replies from 6.2 on
        // asked for on another thread, it lets a connection count as made before it takes commands
        .maintNotificationsConfig(MaintNotificationsConfig.disabled())
        // fails what is under way when the connection ends, as well as what comes after: when to
        // send again is decided here
        .disconnectedBehavior(DisconnectedBehavior.REJECT_COMMANDS)
        .requestQueueSize(MAX_COMMANDS)
        .socketOptions(
            SocketOptions.builder().connectTimeout(CONNECT_TIMEOUT).keepAlive(true).build())
        .build();
  }

  @Override
  public CompletionStage<AppendResult> append(LogBatch batch, AppendMode manner) {
    // by its id and not in turns: whoever appends the batch again must come to the same shard
    var shard = shards.get(Math.floorMod(batch.appendId().hashCode(), shards.size()));
    return append(shard, batch, manner, List.of());
  }

  @Override
  public CompletionStage<AppendResult> append(LogBatch batch, Claim claim, AppendMode manner) {
    byte[] key = RedisIdempotencyKeys.bytes(claim.key().digest());
    return append(
        keys.shardOf(key), batch, manner, List.of(key, RedisIdempotencyKeys.bytes(claim.owner())));
  }

  private CompletionStage<AppendResult> append(
      Shard shard, LogBatch batch, AppendMode manner, List<byte[]> claim) {
    var arguments = new ArrayList<byte[]>();
    arguments.add(RedisIdempotencyKeys.bytes(batch.appendId()));
    arguments.add(number(batch.day().toEpochDay()));
    arguments.add(number(batch.records()));
    arguments.add(Envelope.encode(batch));
    arguments.add(number(manner == AppendMode.POSSIBLE_DUPLICATE ? 1 : 0));
    arguments.addAll(claim);
    byte[][] redisKeys = {
      shard.stream(),
      shard.ledger(),
      shard.appends(),
      shard.appendEntries(),
      shard.keys(),
      shard.keyAges()
    };
    byte[][] asItIs = arguments.toArray(byte[][]::new);
    return untilKnown(
            redis ->
                Script.APPEND
                    .<byte[]>run(redis, redisKeys, asItIs)
                    .thenCompose(id -> replicated(redis, id)))
        .handle(
            (id, failure) -> {
              if (failure != null) {
                return busy(failure);
              }
              return id == null ? new AppendResult.ClaimLost() : accepted(shard, id);
            });
  }

  private CompletableFuture<byte @Nullable []> replicated(
      StatefulRedisConnection<byte[], byte[]> redis, byte @Nullable [] id) {
    int replicas = settings.appending().replicas();
    if (id == null || replicas == 0) {
      return CompletableFuture.completedFuture(id);
    }
    return redis
        .async()
        .waitForReplication(replicas, Math.max(1, settings.commandTimeout().toMillis() / 2))
        .toCompletableFuture()
        .thenApply(
            have -> {
              if (have < replicas) {
                throw new SpoolOutOfReach(
                    "%d of %d replicas have it".formatted(have, replicas), null);
              }
              return id;
            });
  }

  /**
   * Sends a step that may be repeated, again when it is not known whether it has happened, until
   * that is known or the time is over.
   */
  <T extends @Nullable Object> CompletableFuture<T> untilKnown(
      Function<StatefulRedisConnection<byte[], byte[]>, CompletableFuture<T>> step) {
    return attempt(step, System.nanoTime() + settings.appending().within().toNanos(), false);
  }

  private <T extends @Nullable Object> CompletableFuture<T> attempt(
      Function<StatefulRedisConnection<byte[], byte[]>, CompletableFuture<T>> step,
      long deadline,
      boolean doubtful) {
    return appends
        .send(settings.commandTimeout(), step)
        .exceptionallyCompose(
            failure -> {
              boolean unknown =
                  !Connection.refused(failure)
                      || doubtful && !Connection.answered(failure)
                      || doubtful && passing(failure);
              return unknown && !closed && System.nanoTime() - deadline < 0
                  ? CompletableFuture.runAsync(() -> {}, AGAIN)
                      .thenCompose(_ -> attempt(step, deadline, true))
                  : CompletableFuture.failedFuture(failure);
            });
  }

  /** Whether Redis says that it cannot say: it is on its way up, or another has taken its place. */
  private static boolean passing(Throwable failure) {
    var message = String.valueOf(Connection.cause(failure).getMessage());
    return PASSING.stream().anyMatch(message::contains);
  }

  private AppendResult accepted(Shard shard, byte[] id) {
    refusedForMemory = false;
    return new AppendResult.Accepted(new Receipt(shard.number(), EntryId.of(id).toString()));
  }

  private AppendResult busy(Throwable failure) {
    var reason = Connection.reason(failure, settings.commandTimeout());
    refusedForMemory = reason.contains("OOM");
    return new AppendResult.Unavailable(retryAfter(failure), reason);
  }

  static Duration retryAfter(Throwable failure) {
    return Connection.answered(failure) ? WHEN_BETTER : WHEN_BACK;
  }

  /** Deliveries of one shard for the first worker, see {@link #deliveries(int, int)}. */
  public RedisDeliveries deliveries(int shard) {
    return deliveries(shard, 0);
  }

  /**
   * Deliveries of one shard, with a connection of their own that is made when first needed.
   *
   * @param shard from 0
   * @param worker from 0; each is a consumer of its own, the same after a restart
   */
  public RedisDeliveries deliveries(int shard, int worker) {
    return new RedisDeliveries(settings, shards.get(shard), worker, new Connection(client, uri));
  }

  /** The dead letters of all shards, with a connection of their own that is made when needed. */
  public DeadLetterQueue deadLetters() {
    return new RedisDeadLetters(settings, shards, new Connection(client, uri));
  }

  @Override
  public CompletionStage<ClaimResult> claim(IdempotencyKey key) {
    return keys.claim(key);
  }

  @Override
  public CompletionStage<Void> release(Claim claim) {
    return keys.release(claim);
  }

  @Override
  public CompletionStage<DeliveryStatus> statusOf(Receipt receipt, LogId first, int records) {
    if (receipt.shard() < 0 || receipt.shard() >= shards.size()) {
      return CompletableFuture.completedStage(
          new DeliveryStatus.Unknown("there is no shard " + receipt.shard() + " any more"));
    }
    byte[] entry = receipt.entryId().getBytes(UTF_8);
    long since = Math.max(0, EntryId.of(entry).millis() - CLOCK_STEP.toMillis());
    return fate(
            shards.get(receipt.shard()),
            0,
            new EntryId(since, 0).text(),
            entry,
            first.toHex().getBytes(UTF_8),
            first.plus(records - 1).toHex().getBytes(UTF_8))
        .exceptionally(
            failure ->
                new DeliveryStatus.Unknown(Connection.reason(failure, settings.commandTimeout())));
  }

  private CompletableFuture<DeliveryStatus> fate(
      Shard shard, int before, byte[] from, byte[] entry, byte[] first, byte[] last) {
    return questions
        .<List<Object>>send(
            settings.commandTimeout(),
            redis ->
                Script.FATE.run(
                    redis,
                    new byte[][] {shard.stream(), shard.dead()},
                    entry,
                    first,
                    last,
                    from,
                    settings.group().getBytes(UTF_8)))
        .thenCompose(
            reply -> {
              long state = (Long) reply.get(0);
              int dead = before + Math.toIntExact((Long) reply.get(1));
              byte[] next = (byte[]) reply.get(2);
              if (state == 2 && next.length > 0) {
                return fate(shard, dead, next, entry, first, last);
              }
              DeliveryStatus fate =
                  state == 1
                      ? new DeliveryStatus.Pending()
                      : state == 2
                          ? new DeliveryStatus.Delivered(dead)
                          : new DeliveryStatus.Unknown("Redis has lost entries");
              return CompletableFuture.completedFuture(fate);
            });
  }

  /** What is known of one shard or of all: records appended and not settled, and settled. */
  private record Counts(long waiting, long settled) {
    static final Counts NONE = new Counts(0, 0);

    Counts plus(Counts other) {
      return new Counts(waiting + other.waiting, settled + other.settled);
    }
  }

  @Override
  public CompletionStage<SpoolStatus> spoolStatus() {
    return questions
        .send(
            ANSWER_SOON,
            redis -> {
              var info = redis.async().info().toCompletableFuture();
              return counts(redis)
                  .exceptionally(_ -> Counts.NONE) // INFO says why
                  .thenCombine(info, this::condition);
            })
        .exceptionally(
            failure -> new SpoolStatus(Connection.reason(failure, ANSWER_SOON), null, 0, 0));
  }

  private CompletableFuture<Counts> counts(StatefulRedisConnection<byte[], byte[]> redis) {
    var sum = CompletableFuture.completedFuture(Counts.NONE);
    for (var shard : shards) { // all are sent at once
      var counts =
          redis
              .async()
              .hmget(shard.ledger(), APPENDED, SETTLED)
              .toCompletableFuture()
              .thenApply(
                  fields -> {
                    long appended = figure(fields.get(0));
                    long settled = figure(fields.get(1));
                    return new Counts(Math.max(0, appended - settled), settled);
                  });
      sum = sum.thenCombine(counts, Counts::plus);
    }
    return sum;
  }

  private static long figure(KeyValue<byte[], byte[]> field) {
    return field.hasValue() ? Long.parseLong(new String(field.getValue(), UTF_8)) : 0;
  }

  private SpoolStatus condition(Counts counts, String info) {
    var redis = RedisCondition.of(info);
    return new SpoolStatus(
        redis.unavailable(refusedForMemory).orElse(null),
        redis.notDurable(settings.appending().replicas()).orElse(null),
        counts.waiting(),
        counts.settled());
  }

  @Override
  public SortedMap<LocalDate, RecordCounts> recordCounts(LocalDate from) {
    var days = new TreeMap<LocalDate, RecordCounts>();
    for (var shard : shards) {
      Map<byte[], byte[]> ledger =
          questions.callToTheEnd(
              settings.commandTimeout(),
              redis -> redis.async().hgetall(shard.ledger()).toCompletableFuture());
      ledger.forEach((field, count) -> tally(field, count, days));
      count(
          shard.stream(),
          0,
          (day, n) -> days.merge(day, new RecordCounts(0, n, 0, 0, 0), RecordCounts::plus));
      count(
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
          questions.callToTheEnd(
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
  private void count(byte[] stream, int unsaid, ObjLongConsumer<LocalDate> found) {
    byte[] from = FROM_THE_START;
    while (true) {
      byte[] begin = from;
      List<Object> page =
          questions.callToTheEnd(
              settings.commandTimeout(),
              redis -> Script.TALLY.run(redis, new byte[][] {stream}, begin, number(unsaid)));
      for (int i = 1; i < page.size(); i += 2) {
        found.accept(LocalDate.ofEpochDay((Long) page.get(i)), (Long) page.get(i + 1));
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
          questions.callToTheEnd(
              settings.commandTimeout(),
              redis -> Script.DEPTH.run(redis, new byte[][] {shard.stream()}));
      entries += (Long) reply.get(0);
      if (reply.size() > 1 && reply.get(1) instanceof byte[] id) {
        var age = Duration.between(Instant.ofEpochMilli(EntryId.of(id).millis()), clock.instant());
        oldest = age.compareTo(oldest) > 0 ? age : oldest;
      }
    }
    return new Depth(entries, oldest);
  }

  /** Ends all connections, those of the deliveries too; appends under way are answered Busy. */
  @Override
  public void close() {
    closed = true;
    appends.close();
    questions.close();
    client.shutdown(0, 2, TimeUnit.SECONDS);
    var _ = resources.shutdown(0, 2, TimeUnit.SECONDS);
  }
}
