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
 * The idempotency keys that were used through this process, in either spool, so that a request that
 * is repeated after a failover is recognised. Entries expire, and the least recently used ones are
 * evicted above a maximum number. Safe for use by many threads.
 */
final class IdempotencyKeyIndex {
  /** The maximum number of keys; they are in memory in addition to the keys in the spools. */
  private static final int MAX_KEYS = 100_000;

  private record KeyId(String tenant, String key) {}

  /**
   * The state of a key.
   *
   * @param request the digest of the request
   * @param expiresAt the time after which the key is unknown
   * @param completed whether the request is in a spool
   * @param owner the owner of the claim; null before a spool has granted it, and when completed
   * @param inFallback whether the fallback has granted the claim
   */
  private record KeyState(
      UUID request,
      Instant expiresAt,
      boolean completed,
      @Nullable UUID owner,
      boolean inFallback) {

    // explicit: javac does not export the nullness of a compact constructor's parameters
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

  /** The states of the keys. Guarded by this. */
  private final LruMap<KeyId, KeyState> states;

  IdempotencyKeyIndex(int keys, Duration retention, InstantSource clock) {
    this.states = new LruMap<>(Math.min(keys, MAX_KEYS));
    this.retention = retention;
    this.clock = clock;
  }

  private static KeyId keyIdOf(IdempotencyStore.IdempotencyKey key) {
    return new KeyId(key.tenant(), key.key());
  }

  /**
   * Reserves the key for a request before it is claimed in a spool. Without the reservation, two
   * concurrent requests with one key could claim it in different spools during a failover.
   *
   * @return the known state of the key; null if the key was free and is now reserved for the caller
   */
  synchronized @Nullable ClaimResult reserve(IdempotencyStore.IdempotencyKey key) {
    var keyState = states.get(keyIdOf(key));
    if (keyState != null && clock.instant().isBefore(keyState.expiresAt())) {
      if (!keyState.request().equals(key.requestDigest())) {
        return new ClaimResult.IdempotencyKeyReused();
      }
      return keyState.completed() ? new ClaimResult.Completed() : new ClaimResult.InProgress();
    }
    put(key, IdempotencyStore.CLAIM_TTL, false, null, false);
    return null;
  }

  /** Records the claim that a spool granted for a reserved key. */
  synchronized void recordClaim(Claim claim, boolean inFallback) {
    put(claim.key(), IdempotencyStore.CLAIM_TTL, false, claim.owner(), inFallback);
  }

  /** Whether the fallback granted this claim and the key still has it. */
  synchronized boolean isInFallback(Claim claim) {
    var keyState = states.get(keyIdOf(claim.key()));
    return keyState != null && keyState.inFallback() && claim.owner().equals(keyState.owner());
  }

  /** Marks the request of the key as stored in a spool. */
  synchronized void markCompleted(IdempotencyStore.IdempotencyKey key) {
    put(key, retention, true, null, false);
  }

  /** Releases a reserved key; a completed key stays. */
  synchronized void release(IdempotencyStore.IdempotencyKey key) {
    states.computeIfPresent(keyIdOf(key), (_, keyState) -> keyState.completed() ? keyState : null);
  }

  /** Releases the key if it still has this claim. */
  synchronized void release(Claim claim) {
    states.computeIfPresent(
        keyIdOf(claim.key()),
        (_, keyState) -> claim.owner().equals(keyState.owner()) ? null : keyState);
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
