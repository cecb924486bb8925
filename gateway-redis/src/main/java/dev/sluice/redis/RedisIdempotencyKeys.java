package dev.sluice.redis;

import static dev.sluice.redis.Script.number;
import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.port.IdempotencyKeys;
import dev.sluice.core.port.IdempotencyKeys.Claim;
import dev.sluice.core.port.IdempotencyKeys.Claimed;
import io.lettuce.core.api.StatefulRedisConnection;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Claims of keys, each in the shard that its digest says. An append under a claim takes the key in
 * the step that appends, which is {@link RedisSpool}'s.
 *
 * <p>Safe for use by many threads.
 */
final class RedisIdempotencyKeys {

  /** Sends a step that may be repeated until it is known whether it has happened. */
  interface UntilKnown {
    <T extends @Nullable Object> CompletableFuture<T> send(
        Function<StatefulRedisConnection<byte[], byte[]>, CompletableFuture<T>> step);
  }

  /** After that another may have the key of a request that was never heard of again. */
  private static final Duration CLAIM = Duration.ofMinutes(1);

  private final RedisSpool.Settings settings;
  private final List<Shard> shards;
  private final UntilKnown untilKnown;

  RedisIdempotencyKeys(RedisSpool.Settings settings, List<Shard> shards, UntilKnown untilKnown) {
    this.settings = settings;
    this.shards = shards;
    this.untilKnown = untilKnown;
  }

  CompletionStage<Claimed> claim(IdempotencyKeys.Key key) {
    byte[] digest = digest(key);
    var shard = shardOf(digest);
    var claim = new Claim(key, UUID.randomUUID());
    return untilKnown
        .<Long>send(
            redis ->
                Script.KEY_CLAIM.run(
                    redis,
                    new byte[][] {shard.keys(), shard.keyAges()},
                    digest,
                    bytes(key.request()),
                    bytes(claim.owner()),
                    number(CLAIM.toMillis()),
                    number(settings.appending().keyRetention().toMillis()),
                    number(settings.appending().keys())))
        .handle((state, failure) -> failure == null ? claimed(state, claim) : away(failure));
  }

  private static Claimed claimed(long state, Claim claim) {
    return switch ((int) state) {
      case 1 -> new Claimed.Mine(claim);
      case 2 -> new Claimed.Taken();
      case 3 -> new Claimed.UnderWay();
      case 4 -> new Claimed.Another();
      default -> throw new IllegalStateException("a claim that is " + state);
    };
  }

  private Claimed away(Throwable failure) {
    return new Claimed.Away(
        RedisSpool.retryAfter(failure), Connection.reason(failure, settings.commandTimeout()));
  }

  CompletionStage<Void> release(Claim claim) {
    byte[] digest = digest(claim.key());
    var shard = shardOf(digest);
    return untilKnown
        .<Long>send(
            redis ->
                Script.KEY_RELEASE.run(
                    redis,
                    new byte[][] {shard.keys(), shard.keyAges()},
                    digest,
                    bytes(claim.owner())))
        .handle((_, _) -> null); // a claim that could not be given back ends by itself
  }

  Shard shardOf(byte[] digest) {
    return shards.get(Math.floorMod(ByteBuffer.wrap(digest).getInt(), shards.size()));
  }

  /** Of fixed length, and nothing that a client wrote. */
  static byte[] digest(IdempotencyKeys.Key key) {
    try {
      var sha = MessageDigest.getInstance("SHA-256");
      byte[] tenant = key.tenant().getBytes(UTF_8);
      sha.update(ByteBuffer.allocate(Integer.BYTES).putInt(tenant.length).flip());
      sha.update(tenant);
      return Arrays.copyOf(sha.digest(key.key().getBytes(UTF_8)), 16);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }

  static byte[] bytes(UUID id) {
    return ByteBuffer.allocate(2 * Long.BYTES)
        .putLong(id.getMostSignificantBits())
        .putLong(id.getLeastSignificantBits())
        .array();
  }
}
