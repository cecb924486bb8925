package dev.sluice.redis;

import static dev.sluice.redis.Script.number;

import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.IdempotencyStore.Claim;
import dev.sluice.core.port.IdempotencyStore.ClaimResult;
import io.lettuce.core.api.StatefulRedisConnection;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Claims and releases idempotency keys. The digest of a key selects its shard. An append under a
 * claim marks the key as used in the append script, which {@link RedisSpool} calls.
 *
 * <p>Safe for use by many threads.
 */
final class RedisIdempotencyStore {

  /** Sends an idempotent step, and sends it again while its outcome is unknown. */
  interface RetryingSender {
    <T extends @Nullable Object> CompletableFuture<T> send(
        Function<StatefulRedisConnection<byte[], byte[]>, CompletableFuture<T>> step);
  }

  private final RedisSpool.RedisSpoolSettings settings;
  private final List<ShardKeys> shards;
  private final RetryingSender sender;

  RedisIdempotencyStore(
      RedisSpool.RedisSpoolSettings settings, List<ShardKeys> shards, RetryingSender sender) {
    this.settings = settings;
    this.shards = shards;
    this.sender = sender;
  }

  CompletionStage<ClaimResult> claim(IdempotencyStore.IdempotencyKey key) {
    var claim = new Claim(key, UUID.randomUUID());
    return runKeyClaim(key.digest(), key.requestDigest(), claim.owner())
        .thenApply(state -> toClaimResult(state, claim))
        .exceptionally(this::unavailable);
  }

  /** Marks a key as used by a request that another spool has accepted. */
  CompletionStage<ClaimResult> complete(IdempotencyStore.UsedKey key) {
    return runKeyClaim(
            key.digest(),
            key.requestDigest(),
            UUID.randomUUID(),
            number(key.usedAt().toEpochMilli()))
        .<ClaimResult>thenApply(
            state ->
                state == 2 ? new ClaimResult.Completed() : new ClaimResult.IdempotencyKeyReused())
        .exceptionally(this::unavailable);
  }

  private CompletableFuture<Long> runKeyClaim(
      UUID keyDigest, UUID requestDigest, UUID owner, byte[]... usedAt) {
    byte[] digest = bytes(keyDigest);
    var shard = shardOf(digest);
    var arguments =
        Stream.concat(
                Stream.of(
                    digest,
                    bytes(requestDigest),
                    bytes(owner),
                    number(IdempotencyStore.CLAIM_TTL.toMillis()),
                    number(settings.appendSettings().idempotencyRetention().toMillis()),
                    number(settings.appendSettings().idempotencyKeys())),
                Stream.of(usedAt))
            .toArray(byte[][]::new);
    return sender.<Long>send(
        redis ->
            Script.KEY_CLAIM.run(redis, new byte[][] {shard.keys(), shard.keyAges()}, arguments));
  }

  private static ClaimResult toClaimResult(long state, Claim claim) {
    return switch ((int) state) {
      case 1 -> new ClaimResult.Granted(claim);
      case 2 -> new ClaimResult.Completed();
      case 3 -> new ClaimResult.InProgress();
      case 4 -> new ClaimResult.IdempotencyKeyReused();
      default -> throw new IllegalStateException("unknown result of key_claim.lua: " + state);
    };
  }

  private ClaimResult unavailable(Throwable failure) {
    return new ClaimResult.Unavailable(
        RedisSpool.retryAfter(failure), RedisConnection.reason(failure, settings.commandTimeout()));
  }

  CompletionStage<Void> release(Claim claim) {
    byte[] digest = bytes(claim.key().digest());
    var shard = shardOf(digest);
    return sender
        .<Long>send(
            redis ->
                Script.KEY_RELEASE.run(
                    redis,
                    new byte[][] {shard.keys(), shard.keyAges()},
                    digest,
                    bytes(claim.owner())))
        .handle((_, _) -> null); // a claim that was not released expires
  }

  ShardKeys shardOf(byte[] digest) {
    return shards.get(Math.floorMod(ByteBuffer.wrap(digest).getInt(), shards.size()));
  }

  static byte[] bytes(UUID id) {
    return ByteBuffer.allocate(2 * Long.BYTES)
        .putLong(id.getMostSignificantBits())
        .putLong(id.getLeastSignificantBits())
        .array();
  }
}
