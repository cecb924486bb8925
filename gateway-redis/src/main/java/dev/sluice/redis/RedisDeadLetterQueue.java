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
 * Dead letters, a stream {@code {prefix:shard}:dead} for each shard. Entries have the fields {@code
 * i}, the log's id in hexadecimal, {@code d}, the day of its receipt as days since 1970 in UTC,
 * {@code r}, the reason, {@code a}, when it was given up in Unix milliseconds, and {@code e}, an
 * {@link LogBatchCodec}. They are added by {@link Script#ACK}.
 *
 * <p>A letter that this release cannot read is left out of the list, and named in the log.
 */
final class RedisDeadLetterQueue implements DeadLetterQueue {

  /** A letter's place: by Redis's time, then by shard. */
  private record DeadLetterId(StreamEntryId entry, int shard) implements Comparable<DeadLetterId> {
    private static final Comparator<DeadLetterId> ORDER =
        Comparator.comparing(DeadLetterId::entry).thenComparing(DeadLetterId::shard);

    /**
     * @throws IllegalArgumentException when it has not the form of one
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

  private record StoredDeadLetter(DeadLetterId id, DeadLetter letter) {
    DeadLetterItem toItem() {
      return new DeadLetterItem(id.toString(), letter);
    }
  }

  private static final Logger LOG = LoggerFactory.getLogger(RedisDeadLetterQueue.class);

  /** In one reply: a letter may be a large log. */
  private static final int PAGE_SIZE = 64;

  private final RedisSpool.Settings settings;
  private final List<ShardKeys> shards;
  private final RedisConnection connection;

  RedisDeadLetterQueue(
      RedisSpool.Settings settings, List<ShardKeys> shards, RedisConnection connection) {
    this.settings = settings;
    this.shards = shards;
    this.connection = connection;
  }

  /** What {@link Script#ACK} keeps of a letter. */
  static List<byte[]> fields(DeadLetter letter) {
    var log = letter.log();
    return List.of(
        logId(log),
        day(log),
        letter.reason().getBytes(UTF_8),
        Long.toString(letter.deadLetteredAt().toEpochMilli()).getBytes(US_ASCII),
        LogBatchCodec.encode(log));
  }

  private static byte[] logId(LogBatch log) {
    return log.firstId().toHex().getBytes(US_ASCII);
  }

  private static byte[] day(LogBatch log) {
    return Long.toString(log.day().toEpochDay()).getBytes(US_ASCII);
  }

  /**
   * @throws IllegalArgumentException when {@code after} is no id of a letter
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
            letterId -> {
              var shard = shards.get(letterId.shard());
              var entry = letterId.entry().toString();
              return range(shard, Range.create(entry, entry), 1).stream()
                  .findFirst()
                  .flatMap(found -> decode(shard, found));
            })
        .map(StoredDeadLetter::toItem);
  }

  /** Empty when no letter can have that id. */
  private Optional<DeadLetterId> parseId(String id) {
    try {
      return Optional.of(DeadLetterId.of(id))
          .filter(letterId -> letterId.shard() >= 0 && letterId.shard() < shards.size());
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
    var letterId = new DeadLetterId(StreamEntryId.of(entry.getId()), shard.number());
    try {
      var log = LogBatchCodec.decode(field(entry, 'e'));
      var reason = new String(field(entry, 'r'), UTF_8);
      long at = Long.parseLong(new String(field(entry, 'a'), US_ASCII));
      return Optional.of(
          new StoredDeadLetter(letterId, new DeadLetter(log, reason, Instant.ofEpochMilli(at))));
    } catch (UnreadableBatchException | IllegalArgumentException e) {
      LOG.error("dead letter {} cannot be read and is left out: {}", letterId, e.toString());
      return Optional.empty();
    }
  }

  /** Empty when there is no such field. */
  private static byte[] field(StreamMessage<byte[], byte[]> entry, char name) {
    for (var field : entry.getBody().entrySet()) {
      if (field.getKey().length == 1 && field.getKey()[0] == name) {
        return field.getValue();
      }
    }
    return new byte[0];
  }

  /**
   * @throws IllegalArgumentException when the log is not one record of the letter's identity and
   *     day of receipt
   */
  @Override
  public boolean replay(String id, LogBatch log) {
    if (log.records() != 1) {
      throw new IllegalArgumentException("a dead letter of " + log.records() + " records");
    }
    long replayed =
        parseId(id)
            .map(
                letterId -> {
                  var shard = shards.get(letterId.shard());
                  return run(
                      Script.REPLAY,
                      new byte[][] {shard.dead(), shard.stream(), shard.ledger()},
                      letterId.entry().text(),
                      logId(log),
                      day(log),
                      LogBatchCodec.encode(log));
                })
            .orElse(0L);
    if (replayed < 0) {
      throw new IllegalArgumentException(
          "dead letter %s is of another log than %s, or of another day"
              .formatted(id, log.firstId().toHex()));
    }
    return replayed == 1;
  }

  @Override
  public boolean purge(String id) {
    return parseId(id)
        .map(
            letterId -> {
              var shard = shards.get(letterId.shard());
              return run(
                  Script.PURGE,
                  new byte[][] {shard.dead(), shard.ledger()},
                  letterId.entry().text());
            })
        .filter(purged -> purged == 1)
        .isPresent();
  }

  private long run(Script script, byte[][] keys, byte[]... arguments) {
    Long done =
        connection.callUninterruptibly(
            settings.commandTimeout(), redis -> script.run(redis, keys, arguments));
    return done;
  }

  @Override
  public Capacity capacity() {
    long letters = 0;
    for (var shard : shards) {
      letters +=
          connection.callUninterruptibly(
              settings.commandTimeout(),
              redis -> redis.async().xlen(shard.dead()).toCompletableFuture());
    }
    return new Capacity(letters, (long) settings.deadLetters() * shards.size());
  }
}
