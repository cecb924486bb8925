package dev.sluice.core.failover;

import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.IdempotencyStore.Claim;
import dev.sluice.core.port.IdempotencyStore.ClaimResult;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The keys that were used through this process, whichever spool they are in: so that a request that
 * comes again after a change from one to the other is known. Bounded by number, those used longest
 * ago go first, and by time. Safe for use by many threads.
 */
final class IdempotencyKeyIndex {
  /** They are in memory, beside those that the spools keep. */
  private static final int MAX_KEYS = 100_000;

  private static final int MAX_DIVERTED_CLAIMS = 10_000;

  private record KeyId(String tenant, String key) {}

  /**
   * @param owner of the claim; null until a spool has granted it, and when it is taken
   * @param inFallback whether that is the second spool
   */
  private record KeyState(
      UUID request,
      Instant expiresAt,
      boolean completed,
      @Nullable UUID owner,
      boolean inFallback) {

    // spelled out: of a compact constructor's parameters, javac tells other modules no nullness
    private KeyState(
        UUID request,
        Instant expiresAt,
        boolean completed,
        @Nullable UUID owner,
        boolean inFallback) {
      this.request = request;
      this.expiresAt = expiresAt;
      this.completed = completed;
      this.owner = owner;
      this.inFallback = inFallback;
    }
  }

  private final Duration retention;
  private final InstantSource clock;

  /** Guarded by this. */
  private final LruMap<KeyId, KeyState> states;

  /** Guarded by this; by append. */
  private final LruMap<UUID, Claim> primaryClaims = new LruMap<>(MAX_DIVERTED_CLAIMS);

  IdempotencyKeyIndex(int keys, Duration retention, InstantSource clock) {
    this.states = new LruMap<>(Math.min(keys, MAX_KEYS));
    this.retention = retention;
    this.clock = clock;
  }

  private static KeyId keyIdOf(IdempotencyStore.IdempotencyKey key) {
    return new KeyId(key.tenant(), key.key());
  }

  /**
   * Keeps the key for a request that is about to be claimed, before a spool is asked: two that come
   * at a change must not ask one each.
   *
   * @return what is known of the key; null when it is nobody's, and now the caller's
   */
  synchronized @Nullable ClaimResult reserve(IdempotencyStore.IdempotencyKey key) {
    var keyState = states.get(keyIdOf(key));
    if (keyState != null && clock.instant().isBefore(keyState.expiresAt())) {
      if (!keyState.request().equals(key.requestDigest())) {
        return new ClaimResult.KeyReused();
      }
      return keyState.completed() ? new ClaimResult.Completed() : new ClaimResult.InProgress();
    }
    put(key, IdempotencyStore.CLAIM_TTL, false, null, false);
    return null;
  }

  /** A spool has granted what was reserved. */
  synchronized void recordClaim(Claim claim, boolean inFallback) {
    put(claim.key(), IdempotencyStore.CLAIM_TTL, false, claim.owner(), inFallback);
  }

  synchronized boolean isInFallback(Claim claim) {
    var keyState = states.get(keyIdOf(claim.key()));
    return keyState != null && keyState.inFallback() && claim.owner().equals(keyState.owner());
  }

  /** The request is in a spool. */
  synchronized void markCompleted(IdempotencyStore.IdempotencyKey key) {
    put(key, retention, true, null, false);
  }

  /** Nothing came of what was reserved. */
  synchronized void release(IdempotencyStore.IdempotencyKey key) {
    states.computeIfPresent(keyIdOf(key), (_, keyState) -> keyState.completed() ? keyState : null);
  }

  /** As above, if the key is still under that claim. */
  synchronized void release(Claim claim) {
    states.computeIfPresent(
        keyIdOf(claim.key()),
        (_, keyState) -> claim.owner().equals(keyState.owner()) ? null : keyState);
  }

  /** The second takes what was to be appended in the first under that claim, or may have been. */
  synchronized void recordDiverted(UUID appendId, Claim claim) {
    primaryClaims.put(appendId, claim);
  }

  /** The first's claim of a diverted append; null when there was none, or it was forgotten. */
  synchronized @Nullable Claim primaryClaimOf(UUID appendId) {
    return primaryClaims.get(appendId);
  }

  private void put(
      IdempotencyStore.IdempotencyKey key,
      Duration ttl,
      boolean completed,
      @Nullable UUID owner,
      boolean inFallback) {
    states.put(
        keyIdOf(key),
        new KeyState(key.requestDigest(), clock.instant().plus(ttl), completed, owner, inFallback));
  }
}
