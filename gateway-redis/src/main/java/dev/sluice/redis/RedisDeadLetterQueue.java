package dev.sluice.redis;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.DeadLetterQueue;
import io.lettuce.core.Limit;
import io.lettuce.core.Range;
import io.lettuce.core.Range.Boundary;
import io.lettuce.core.StreamMessage;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The dead letters of all shards, in one stream {@code {prefix:shard}:dead} for each shard. A
 * stream entry has the fields {@code i}, the id of the log in hexadecimal; {@code d}, its receive
 * day in days since 1970 in UTC; {@code r}, the reason; {@code a}, the time when it became a dead
 * letter in Unix milliseconds; and {@code e}, the log as {@link LogBatchCodec} encodes it. {@link
 * Script#ACK} adds the entries.
 *
 * <p>A dead letter that this release cannot decode is omitted from the list and logged with its id.
 */
final class RedisDeadLetterQueue implements DeadLetterQueue {

  /** The id of a dead letter, ordered by stream entry id (the time of Redis), then by shard. */
  private record DeadLetterId(StreamEntryId entry, int shard) implements Comparable<DeadLetterId> {
    private static final Comparator<DeadLetterId> ORDER =
        Comparator.comparing(DeadLetterId::entry).thenComparing(DeadLetterId::shard);

    /**
     * @throws IllegalArgumentException when {@code id} is not a shard, a dash and an entry id
     */
    static DeadLetterId of(String id) {
      int dash = id.indexOf('-');
      return new DeadLetterId(
          StreamEntryId.of(id.substring(dash + 1)), Integer.parseInt(id, 0, dash, 10));
    }

    @Override
    public int compareTo(DeadLetterId other) {
      return ORDER.compare(this, other);
    }

    @Override
    public String toString() {
      return shard + "-" + entry;
    }
  }

  private record StoredDeadLetter(DeadLetterId id, DeadLetter deadLetter) {
    DeadLetterItem toItem() {
      return new DeadLetterItem(id.toString(), deadLetter);
    }
  }

  private static final Logger LOG = LoggerFactory.getLogger(RedisDeadLetterQueue.class);

  /** Maximum number of dead letters in one reply: one dead letter can be a large log. */
  private static final int PAGE_SIZE = 64;

  private final RedisSpool.RedisSpoolSettings settings;
  private final List<ShardKeys> shards;
  private final RedisConnection connection;

  RedisDeadLetterQueue(
      RedisSpool.RedisSpoolSettings settings, List<ShardKeys> shards, RedisConnection connection) {
    this.settings = settings;
    this.shards = shards;
    this.connection = connection;
  }

  /** Returns the arguments of {@link Script#ACK} for one dead letter. */
  static List<byte[]> toArguments(DeadLetter deadLetter) {
    var log = deadLetter.log();
    return List.of(
        logId(log),
        day(log),
        deadLetter.reason().getBytes(UTF_8),
        Long.toString(deadLetter.deadLetteredAt().toEpochMilli()).getBytes(US_ASCII),
        LogBatchCodec.encode(log));
  }

  private static byte[] logId(LogBatch log) {
    return log.firstId().toHex().getBytes(US_ASCII);
  }

  private static byte[] day(LogBatch log) {
    return Long.toString(log.day().toEpochDay()).getBytes(US_ASCII);
  }

  /**
   * {@inheritDoc}
   *
   * @throws IllegalArgumentException when {@code after} is not a dead letter id
   */
  @Override
  public List<DeadLetterItem> list(@Nullable String after, int limit) {
    var from = after == null ? null : DeadLetterId.of(after);
    return shards.stream()
        .flatMap(shard -> list(shard, from, limit).stream())
        .sorted(Comparator.comparing(StoredDeadLetter::id))
        .limit(limit)
        .map(StoredDeadLetter::toItem)
        .toList();
  }

  private List<StoredDeadLetter> list(ShardKeys shard, @Nullable DeadLetterId after, int limit) {
    var found = new ArrayList<StoredDeadLetter>();
    var from = rangeStart(shard, after);
    int page = Math.min(limit, PAGE_SIZE);
    List<StreamMessage<byte[], byte[]>> entries;
    do {
      entries = range(shard, Range.from(from, Boundary.unbounded()), page);
      for (var entry : entries) {
        decode(shard, entry).ifPresent(found::add);
        from = Boundary.excluding(entry.getId());
      }
    } while (entries.size() == page && found.size() < limit);
    return found;
  }

  private static Boundary<String> rangeStart(ShardKeys shard, @Nullable DeadLetterId after) {
    if (after == null) {
      return Boundary.unbounded();
    }
    var entry = after.entry().toString();
    return shard.number() > after.shard() ? Boundary.including(entry) : Boundary.excluding(entry);
  }

  @Override
  public Optional<DeadLetterItem> find(String id) {
    return parseId(id)
        .flatMap(
            deadLetterId -> {
              var shard = shards.get(deadLetterId.shard());
              var entry = deadLetterId.entry().toString();
              return range(shard, Range.create(entry, entry), 1).stream()
                  .findFirst()
                  .flatMap(found -> decode(shard, found));
            })
        .map(StoredDeadLetter::toItem);
  }

  /** Parses a dead letter id; empty when the id is malformed or its shard does not exist. */
  private Optional<DeadLetterId> parseId(String id) {
    try {
      return Optional.of(DeadLetterId.of(id))
          .filter(parsed -> parsed.shard() >= 0 && parsed.shard() < shards.size());
    } catch (IllegalArgumentException _) {
      return Optional.empty();
    }
  }

  private List<StreamMessage<byte[], byte[]>> range(
      ShardKeys shard, Range<String> range, int limit) {
    return connection.callUninterruptibly(
        settings.commandTimeout(),
        redis ->
            redis.async().xrange(shard.dead(), range, Limit.from(limit)).toCompletableFuture());
  }

  private static Optional<StoredDeadLetter> decode(
      ShardKeys shard, StreamMessage<byte[], byte[]> entry) {
    var deadLetterId = new DeadLetterId(StreamEntryId.of(entry.getId()), shard.number());
    try {
      var log = LogBatchCodec.decode(field(entry, 'e'));
      var reason = new String(field(entry, 'r'), UTF_8);
      var deadLetteredAt =
          Instant.ofEpochMilli(Long.parseLong(new String(field(entry, 'a'), US_ASCII)));
      return Optional.of(
          new StoredDeadLetter(deadLetterId, new DeadLetter(log, reason, deadLetteredAt)));
    } catch (UnreadableBatchException | IllegalArgumentException e) {
      LOG.error("omitting dead letter {}, which cannot be decoded: {}", deadLetterId, e.toString());
      return Optional.empty();
    }
  }

  /** Returns the value of a field; an empty array when the entry does not have the field. */
  private static byte[] field(StreamMessage<byte[], byte[]> entry, char name) {
    for (var field : entry.getBody().entrySet()) {
      if (field.getKey().length == 1 && field.getKey()[0] == name) {
        return field.getValue();
      }
    }
    return new byte[0];
  }

  /**
   * {@inheritDoc}
   *
   * @throws IllegalArgumentException when the log is not one record with the id and the receive day
   *     of the dead letter
   */
  @Override
  public boolean replay(String id, LogBatch log) {
    if (log.records() != 1) {
      throw new IllegalArgumentException(
          "a replayed dead letter has one record, not " + log.records());
    }
    long replayed =
        parseId(id)
            .map(
                deadLetterId -> {
                  var shard = shards.get(deadLetterId.shard());
                  return run(
                      Script.REPLAY,
                      new byte[][] {shard.dead(), shard.stream(), shard.ledger()},
                      deadLetterId.entry().text(),
                      logId(log),
                      day(log),
                      LogBatchCodec.encode(log));
                })
            .orElse(0L);
    if (replayed < 0) {
      throw new IllegalArgumentException(
          "dead letter %s has another log id than %s, or another receive day"
              .formatted(id, log.firstId().toHex()));
    }
    return replayed == 1;
  }

  @Override
  public boolean purge(String id) {
    return parseId(id)
        .map(
            deadLetterId -> {
              var shard = shards.get(deadLetterId.shard());
              return run(
                  Script.PURGE,
                  new byte[][] {shard.dead(), shard.ledger()},
                  deadLetterId.entry().text());
            })
        .filter(purged -> purged == 1)
        .isPresent();
  }

  private long run(Script script, byte[][] keys, byte[]... arguments) {
    Long result =
        connection.callUninterruptibly(
            settings.commandTimeout(), redis -> script.run(redis, keys, arguments));
    return result;
  }

  @Override
  public Capacity capacity() {
    long deadLetters = 0;
    for (var shard : shards) {
      deadLetters +=
          connection.callUninterruptibly(
              settings.commandTimeout(),
              redis -> redis.async().xlen(shard.dead()).toCompletableFuture());
    }
    return new Capacity(deadLetters, (long) settings.deadLetters() * shards.size());
  }
}
