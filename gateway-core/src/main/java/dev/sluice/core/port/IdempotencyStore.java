package dev.sluice.core.port;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.core.port.Spool.AppendResult;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletionStage;

/**
 * Which requests were taken before. A key is claimed, then the logs are appended under the claim;
 * appending and remembering the key are one atomic step of the spool. What is remembered is
 * bounded, and forgotten after a time.
 *
 * <p>Safe for use by many threads; nothing blocks, and no stage fails.
 */
public interface IdempotencyStore {

  /**
   * From then on another may have the key of a request that was claimed and never heard of again:
   * longer than any request is under way, and as short as a client may be made to wait.
   */
  Duration CLAIM_TTL = Duration.ofMinutes(1);

  /**
   * Claims the key for one request. A claim that is neither appended under nor {@link #release
   * released} ends by itself {@link #CLAIM_TTL after a while}, so that a key is not lost with the
   * process that had it.
   */
  CompletionStage<ClaimResult> claim(IdempotencyKey key);

  /**
   * {@link ClaimResult.Completed} or {@link ClaimResult.KeyReused} when the key is known to be
   * taken, without a claim. Answers at once from what is at hand: empty proves nothing.
   */
  default Optional<ClaimResult> cachedResult(IdempotencyKey key) {
    return Optional.empty();
  }

  /** As {@link Spool#append}, and the key is taken for good in the same step. */
  CompletionStage<AppendResult> append(LogBatch batch, Claim claim, AppendMode mode);

  /** As above, for a client that waits. */
  default CompletionStage<AppendResult> append(LogBatch batch, Claim claim) {
    return append(batch, claim, AppendMode.SYNC);
  }

  /** The request failed: the key is as if it had never been used. */
  CompletionStage<Void> release(Claim claim);

  /**
   * @param tenant whose key
   * @param key as the client chose it
   * @param requestDigest digest of everything that makes the request what it is, 16 bytes
   */
  record IdempotencyKey(String tenant, String key, UUID requestDigest) {
    /**
     * What a spool keeps in the place of tenant and key: of fixed length, and nothing that a client
     * wrote. Keys with the same digest are the same. It is in what is stored, so it stays as it is:
     * the first 16 bytes of the SHA-256 of the tenant's length in bytes as 4 big-endian bytes, the
     * tenant and the key, both in UTF-8.
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
   * @param owner tells this claim from every other of the same key
   */
  record Claim(IdempotencyKey key, UUID owner) {}

  /** What came of a claim. */
  sealed interface ClaimResult {
    /** The caller's, from now on. */
    record Granted(Claim claim) implements ClaimResult {}

    /** The same request was taken before. */
    record Completed() implements ClaimResult {}

    /** The same request is under way. */
    record InProgress() implements ClaimResult {}

    /** The key belongs to another request. */
    record KeyReused() implements ClaimResult {}

    /** Nobody can tell at the moment. */
    record Unavailable(Duration retryAfter, String reason) implements ClaimResult {}
  }
}
