package dev.sluice.redis;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.codec.LogBatchCodec;
import dev.sluice.core.codec.UnreadableBatchException;
import dev.sluice.core.domain.DeadLetter;
import io.lettuce.core.Limit;
import io.lettuce.core.Range;
import io.lettuce.core.Range.Boundary;
import io.lettuce.core.StreamMessage;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Moves the dead letters that an earlier release kept in Redis, in one stream {@code
 * {prefix:shard}:dead} for each shard. A stream entry has the fields {@code r}, the reason; {@code
 * a}, the time when it became a dead letter in Unix milliseconds; and {@code e}, the log as {@link
 * LogBatchCodec} encodes it.
 *
 * <p>A dead letter that this release cannot decode stays in Redis and is logged with its id.
 */
final class DeadLetterMover {
  private static final Logger LOG = LoggerFactory.getLogger(DeadLetterMover.class);

  /** Maximum number of dead letters in one reply: one dead letter can be a large log. */
  private static final int PAGE_SIZE = 64;

  private final RedisSpool.RedisSpoolSettings settings;
  private final List<ShardKeys> shards;
  private final RedisConnection connection;

  DeadLetterMover(
      RedisSpool.RedisSpoolSettings settings, List<ShardKeys> shards, RedisConnection connection) {
    this.settings = settings;
    this.shards = shards;
    this.connection = connection;
  }

  /** Moves the dead letters of all shards, see {@link RedisSpool#moveDeadLetters}. */
  boolean move(Predicate<List<DeadLetter>> writer) {
    for (var shard : shards) {
      Boundary<String> from = Boundary.unbounded();
      for (var page = read(shard, from); !page.isEmpty(); page = read(shard, from)) {
        if (!move(shard, page, writer)) {
          return false;
        }
        from = Boundary.excluding(page.getLast().getId());
      }
    }
    return true;
  }

  private boolean move(
      ShardKeys shard,
      List<StreamMessage<byte[], byte[]>> page,
      Predicate<List<DeadLetter>> writer) {
    var ids = new ArrayList<String>();
    var deadLetters = new ArrayList<DeadLetter>();
    for (var entry : page) {
      decode(shard, entry)
          .ifPresent(
              deadLetter -> {
                ids.add(entry.getId());
                deadLetters.add(deadLetter);
              });
    }
    if (ids.isEmpty()) {
      return true;
    }
    if (!writer.test(deadLetters)) {
      return false;
    }
    connection.callUninterruptibly(
        settings.commandTimeout(),
        redis ->
            redis.async().xdel(shard.dead(), ids.toArray(String[]::new)).toCompletableFuture());
    LOG.info("{} dead letters of shard {} moved to the table", ids.size(), shard.number());
    return true;
  }

  private List<StreamMessage<byte[], byte[]>> read(ShardKeys shard, Boundary<String> from) {
    return connection.callUninterruptibly(
        settings.commandTimeout(),
        redis ->
            redis
                .async()
                .xrange(shard.dead(), Range.from(from, Boundary.unbounded()), Limit.from(PAGE_SIZE))
                .toCompletableFuture());
  }

  private static Optional<DeadLetter> decode(ShardKeys shard, StreamMessage<byte[], byte[]> entry) {
    try {
      var log = LogBatchCodec.decode(field(entry, 'e'));
      var reason = new String(field(entry, 'r'), UTF_8);
      var deadLetteredAt =
          Instant.ofEpochMilli(Long.parseLong(new String(field(entry, 'a'), US_ASCII)));
      return Optional.of(new DeadLetter(log, reason, 0, deadLetteredAt));
    } catch (UnreadableBatchException | IllegalArgumentException e) {
      LOG.error(
          "dead letter {} of shard {} cannot be decoded and stays in Redis: {}",
          entry.getId(),
          shard.number(),
          e.toString());
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
}
