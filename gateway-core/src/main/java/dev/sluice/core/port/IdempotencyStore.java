package dev.sluice.core.port;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.core.port.Spool.AppendResult;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletionStage;

/**
 * The store of idempotency keys, which identify the requests that are already accepted. A request
 * claims its key and then appends its logs under the claim; the spool appends the logs and stores
 * the key in one atomic step. The number of stored keys is bounded, and keys expire.
 *
 * <p>Thread-safe; no method blocks, and no stage fails.
 */
public interface IdempotencyStore {

  /**
   * The lifetime of a claim that is neither used nor released; then another request can claim the
   * key. It is longer than any request is in progress, and short enough for a client to wait.
   */
  Duration CLAIM_TTL = Duration.ofMinutes(1);

  /**
   * Claims the key for one request. A claim that no append uses and that is not {@link #release
   * released} expires after {@link #CLAIM_TTL}, so that the key does not stay claimed when the
   * process ends.
   */
  CompletionStage<ClaimResult> claim(IdempotencyKey key);

  /**
   * Looks up the key in local memory, without a claim. Returns immediately.
   *
   * @return {@link ClaimResult.Completed} or {@link ClaimResult.IdempotencyKeyReused} when the key
   *     is known to be used; empty when it is unused or unknown
   */
  default Optional<ClaimResult> cachedResult(IdempotencyKey key) {
    return Optional.empty();
  }

  /**
   * Returns the used keys in local memory, oldest first; empty when other processes find the keys
   * too.
   */
  default List<UsedKey> usedKeys() {
    return List.of();
  }

  /** Appends a batch like {@link Spool#append}, and stores the key in the same atomic step. */
  CompletionStage<AppendResult> append(LogBatch batch, Claim claim, AppendMode mode);

  /** Releases the claim of a failed request, so that its key is unused again. */
  CompletionStage<Void> release(Claim claim);

  /**
   * An idempotency key with the digest of its request.
   *
   * @param tenant the tenant of the request
   * @param key the key that the client chose
   * @param requestDigest a digest of 16 bytes over the protocol and the body of the request
   */
  record IdempotencyKey(String tenant, String key, UUID requestDigest) {
    /**
     * Returns the digest that a spool stores instead of the tenant and the key: it has a fixed
     * length and contains no client input. Keys with the same digest are equal. Stored data
     * contains the digest, so its definition must not change: the first 16 bytes of the SHA-256 of
     * the length of the tenant in bytes, as 4 big-endian bytes, then the tenant and the key, both
     * in UTF-8.
     */
    public UUID digest() {
      try {
        var sha = MessageDigest.getInstance("SHA-256");
        byte[] tenantBytes = tenant.getBytes(UTF_8);
        sha.update(ByteBuffer.allocate(Integer.BYTES).putInt(tenantBytes.length).flip());
        sha.update(tenantBytes);
        var digest = ByteBuffer.wrap(sha.digest(key.getBytes(UTF_8)));
        return new UUID(digest.getLong(), digest.getLong());
      } catch (NoSuchAlgorithmException e) {
        throw new IllegalStateException("every JDK has SHA-256", e);
      }
    }
  }

  /**
   * A key that a request has used.
   *
   * @param digest the {@linkplain IdempotencyKey#digest digest} of the key
   * @param requestDigest the digest of the request
   * @param usedAt the receive time of the request, from which the retention of the key counts
   */
  record UsedKey(UUID digest, UUID requestDigest, Instant usedAt) {}

  /**
   * A claim on a key.
   *
   * @param owner the unique id of this claim
   */
  record Claim(IdempotencyKey key, UUID owner) {}

  /** The result of {@link #claim}. */
  sealed interface ClaimResult {
    /** The caller owns the claim. */
    record Granted(Claim claim) implements ClaimResult {}

    /** The same request is already accepted. */
    record Completed() implements ClaimResult {}

    /** The same request is in progress. */
    record InProgress() implements ClaimResult {}

    /** The key was used for another request. */
    record IdempotencyKeyReused() implements ClaimResult {}

    /** The status of the key is unknown, because the spool is unavailable. */
    record Unavailable(Duration retryAfter, String reason) implements ClaimResult {}
  }
}
