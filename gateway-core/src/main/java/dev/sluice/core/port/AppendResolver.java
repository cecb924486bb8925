package dev.sluice.core.port;

import dev.sluice.core.port.IdempotencyStore.ClaimResult;
import dev.sluice.core.port.IdempotencyStore.UsedKey;
import dev.sluice.core.port.Spool.Receipt;
import java.util.UUID;
import java.util.concurrent.CompletionStage;

/**
 * The steps by which a primary spool learns what its fallback has accepted, and by which the
 * fallback learns what the primary has: appends whose outcome is unknown, and idempotency keys.
 *
 * <p>Thread-safe; no method blocks.
 */
public interface AppendResolver {

  /**
   * Looks up an append id. When the spool does not have it, the same atomic step refuses it from
   * now on: a later append under this id is not accepted, as long as one may still arrive. The step
   * can be repeated.
   *
   * @return fails when the spool is unavailable; the id is then refused or not
   */
  CompletionStage<ResolveResult> resolve(UUID appendId);

  /**
   * Marks an idempotency key as used by a request that the fallback has accepted. The step can be
   * repeated. The stage never fails.
   *
   * @return {@link ClaimResult.Completed} when the key is used by this request now, {@link
   *     ClaimResult.IdempotencyKeyReused} when another request has used it before, or {@link
   *     ClaimResult.Unavailable}
   */
  CompletionStage<ClaimResult> completeKey(UsedKey key);

  /** The result of {@link #resolve}. */
  sealed interface ResolveResult {
    /** The spool has accepted the batch. */
    record Known(Receipt receipt) implements ResolveResult {}

    /**
     * The spool neither has the batch nor accepts it any more. It may have delivered the batch so
     * long ago that it has forgotten the append id.
     */
    record Refused() implements ResolveResult {}

    /** The spool cannot tell yet; a later call may succeed. */
    record Undecided() implements ResolveResult {}
  }
}
