package dev.sluice.redis;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.DeadLetters;
import dev.sluice.core.port.Spool;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.ClientOptions.DisconnectedBehavior;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.SocketOptions;
import io.lettuce.core.protocol.ProtocolVersion;
import io.lettuce.core.resource.ClientResources;
import io.lettuce.core.resource.Delay;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.LocalDate;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The spool on Redis Streams, from Redis 6.2 on. Owns the Redis client, also of the {@link
 * #deliveries} made here.
 *
 * <p>Each shard is a stream {@code {prefix:shard}:logs}, read by one consumer group, beside a hash
 * {@code {prefix:shard}:ledger}. Entries have the fields {@code n}, records, and {@code e}, an
 * {@link Envelope}.
 *
 * <p>Nothing is asked of Redis before it is needed, so that the application starts without it; once
 * it is back, so is the spool. Safe for use by many threads.
 */
public final class RedisSpool implements Spool, Backlog, AutoCloseable {

  /**
   * What the spool needs to know.
   *
   * @param url as Lettuce reads it, such as {@code redis://user:password@host:6379/0}, {@code
   *     rediss://} for TLS
   * @param shards streams, each with a consumer of its own in every delivering process
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
   */
  public record Settings(
      String url,
      int shards,
      String prefix,
      String group,
      String instance,
      RedisDeliveries.Bounds bounds,
      int deadLetters,
      Duration claimIdle,
      Duration commandTimeout) {

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
          RedisDeliveries.Bounds.DEFAULT,
          100_000,
          Duration.ofMinutes(2),
          Duration.ofSeconds(5));
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
      return "Settings[shards=%d, prefix=%s, group=%s, instance=%s, %s, deadLetters=%d, claimIdle=%s, commandTimeout=%s]"
          .formatted(
              shards, prefix, group, instance, bounds, deadLetters, claimIdle, commandTimeout);
    }
  }

  private static final Logger LOG = LoggerFactory.getLogger(RedisSpool.class);
  private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(2);
  private static final Duration RECONNECT_DELAY = Duration.ofMillis(500);
  private static final Duration ANSWER_SOON = Duration.ofSeconds(1);
  private static final int MAX_COMMANDS = 10_000;

  /** Part of the memory that must be free before a Redis that was full counts as not full. */
  private static final int NEARLY_FULL = 20;

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

  private final AtomicInteger turn = new AtomicInteger();
  private final AtomicBoolean troubled = new AtomicBoolean();
  private final AtomicBoolean warnedOfEviction = new AtomicBoolean();

  /** The last append was; between two of them Redis looks as if there were room for one. */
  private volatile boolean refusedForMemory;

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
  }

  private static ClientOptions options() {
    return ClientOptions.builder()
        .protocolVersion(ProtocolVersion.RESP2) // one shape of replies from 6.2 on
        // fails what is under way when the connection ends, as well as what comes after: an append
        // that was answered with Busy and sent again would be there twice
        .disconnectedBehavior(DisconnectedBehavior.REJECT_COMMANDS)
        .requestQueueSize(MAX_COMMANDS)
        .socketOptions(
            SocketOptions.builder().connectTimeout(CONNECT_TIMEOUT).keepAlive(true).build())
        .build();
  }

  @Override
  public CompletionStage<Appended> append(LogBatch batch) {
    var shard = shards.get(Math.floorMod(turn.getAndIncrement(), shards.size()));
    byte[] records = Integer.toString(batch.records()).getBytes(UTF_8);
    byte[] envelope = Envelope.encode(batch);
    return appends
        .<byte[]>send(
            settings.commandTimeout(),
            redis ->
                Script.APPEND.run(
                    redis, new byte[][] {shard.stream(), shard.ledger()}, records, envelope))
        .handle((id, failure) -> failure == null ? accepted(shard, id) : busy(failure));
  }

  private Appended accepted(Shard shard, byte[] id) {
    refusedForMemory = false;
    if (troubled.get() && troubled.getAndSet(false)) {
      LOG.info("Redis takes logs again");
    }
    return new Appended.Accepted(new Receipt(shard.number(), EntryId.of(id).toString()));
  }

  private Appended busy(Throwable failure) {
    var reason = Connection.reason(failure, settings.commandTimeout());
    refusedForMemory = reason.contains("OOM");
    if (!troubled.getAndSet(true)) { // the same again is not news
      LOG.warn("logs are turned away: {}", reason);
    }
    return new Appended.Busy(Connection.answered(failure) ? WHEN_BETTER : WHEN_BACK, reason);
  }

  /**
   * Deliveries of one shard, with a connection of their own that is made when first needed.
   *
   * @param shard from 0
   */
  public RedisDeliveries deliveries(int shard) {
    return new RedisDeliveries(settings, shards.get(shard), new Connection(client, uri), clock);
  }

  /** The dead letters of all shards, with a connection of their own that is made when needed. */
  public DeadLetters deadLetters() {
    return new RedisDeadLetters(settings, shards, new Connection(client, uri));
  }

  @Override
  public CompletionStage<Fate> fate(Receipt receipt, LogId first, int records) {
    throw new UnsupportedOperationException("not built yet");
  }

  @Override
  public CompletionStage<Condition> condition() {
    return questions
        .send(ANSWER_SOON, redis -> redis.async().info().toCompletableFuture())
        .handle(
            (info, failure) ->
                new Condition(
                    failure == null
                        ? reasonAgainst(properties(info)).orElse(null)
                        : Connection.reason(failure, ANSWER_SOON),
                    null,
                    0,
                    0));
  }

  private Optional<String> reasonAgainst(Map<String, String> info) {
    if (!"master".equals(info.get("role"))) {
      return Optional.of("Redis is a replica");
    }
    if ("1".equals(info.get("loading"))) {
      return Optional.of("Redis is loading its data");
    }
    if ("0".equals(info.get("aof_enabled"))) {
      return Optional.of("Redis keeps no append-only file: set appendonly yes");
    }
    if ("err".equals(info.get("aof_last_write_status"))) {
      return Optional.of("Redis cannot write its append-only file");
    }
    long limit = number(info, "maxmemory");
    if (limit == 0) {
      return Optional.empty();
    }
    if (info.getOrDefault("maxmemory_policy", "").startsWith("allkeys")) {
      if (!warnedOfEviction.getAndSet(true)) {
        LOG.warn("Redis deletes logs when its memory is full: set maxmemory-policy noeviction");
      }
      return Optional.empty();
    }
    long used = number(info, "used_memory") - number(info, "mem_not_counted_for_evict");
    return used > limit || refusedForMemory && used > limit - limit / NEARLY_FULL
        ? Optional.of("Redis is full: %d bytes of %d".formatted(used, limit))
        : Optional.empty();
  }

  private static long number(Map<String, String> info, String key) {
    return Long.parseLong(info.getOrDefault(key, "0"));
  }

  private static Map<String, String> properties(String info) {
    var properties = new HashMap<String, String>();
    for (var line : info.split("\r?\n", -1)) {
      int colon = line.indexOf(':');
      if (colon > 0) {
        properties.put(line.substring(0, colon), line.substring(colon + 1));
      }
    }
    return properties;
  }

  @Override
  public SortedMap<LocalDate, Tally> tally(LocalDate from) {
    long accepted = 0;
    long inFlight = 0;
    for (var shard : shards) {
      byte[] count =
          questions.callToTheEnd(
              settings.commandTimeout(),
              redis ->
                  redis
                      .async()
                      .hget(shard.ledger(), "accepted".getBytes(UTF_8))
                      .toCompletableFuture());
      accepted += count == null ? 0 : Long.parseLong(new String(count, UTF_8));
      inFlight += inFlight(shard);
    }
    return new TreeMap<>(Map.of(LocalDate.EPOCH, new Tally(accepted, inFlight, 0, 0)));
  }

  private long inFlight(Shard shard) {
    long records = 0;
    String from = "-";
    while (true) {
      byte[] begin = from.getBytes(UTF_8);
      List<Object> page =
          questions.callToTheEnd(
              settings.commandTimeout(),
              redis -> Script.TALLY.run(redis, new byte[][] {shard.stream()}, begin));
      records += (Long) page.get(0);
      var last = new String((byte[]) page.get(1), UTF_8);
      if (last.isEmpty()) {
        return records;
      }
      from = "(" + last;
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
    appends.close();
    questions.close();
    client.shutdown(0, 2, TimeUnit.SECONDS);
    var _ = resources.shutdown(0, 2, TimeUnit.SECONDS);
  }
}
