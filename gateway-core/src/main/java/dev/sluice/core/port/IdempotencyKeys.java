package dev.sluice.core.port;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.Spool.Appended;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.CompletionStage;

/**
 * Which requests were taken before. A key is claimed, then the logs are appended under the claim;
 * appending and remembering the key are one atomic step of the spool. What is remembered is
 * bounded, and forgotten after a time.
 *
 * <p>Safe for use by many threads; nothing blocks, and no stage fails.
 */
public interface IdempotencyKeys {

  /**
   * Claims the key for one request. A claim that is neither appended under nor {@link #release
   * released} ends by itself after a while, so that a key is not lost with the process that had it.
   */
  CompletionStage<Claimed> claim(Key key);

  /** As {@link Spool#append}, and the key is taken for good in the same step. */
  CompletionStage<Appended> append(LogBatch batch, Claim claim);

  /** The request failed: the key is as if it had never been used. */
  CompletionStage<Void> release(Claim claim);

  /**
   * @param tenant whose key
   * @param key as the client chose it
   * @param request digest of everything that makes the request what it is, 16 bytes
   */
  record Key(String tenant, String key, UUID request) {}

  /**
   * @param owner tells this claim from every other of the same key
   */
  record Claim(Key key, UUID owner) {}

  /** What came of a claim. */
  sealed interface Claimed {
    /** The caller's, from now on. */
    record Mine(Claim claim) implements Claimed {}

    /** The same request was taken before. */
    record Taken() implements Claimed {}

    /** The same request is under way. */
    record UnderWay() implements Claimed {}

    /** The key belongs to another request. */
    record Another() implements Claimed {}

    /** Nobody can tell at the moment. */
    record Away(Duration retryAfter, String reason) implements Claimed {}
  }
}
