package dev.sluice.testkit;

import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.IdempotencyStore.Claim;
import dev.sluice.core.port.IdempotencyStore.ClaimResult;
import dev.sluice.core.port.IdempotencyStore.IdempotencyKey;
import dev.sluice.core.port.IdempotencyStore.UsedKey;
import java.time.Instant;
import java.time.InstantSource;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The idempotency keys of {@link InMemorySpool}, guarded by its lock. */
final class InMemoryKeyTable {
  /**
   * The state of an idempotency key: its owner, and the expiry of its claim unless it is completed.
   */
  private record ClaimState(UUID owner, UUID request, Instant expiresAt, boolean completed) {}

  private final InstantSource clock;

  /** The states of the keys by digest, oldest first. */
  private final Map<UUID, ClaimState> keys = new LinkedHashMap<>();

  InMemoryKeyTable(InstantSource clock) {
    this.clock = clock;
  }

  ClaimResult claim(IdempotencyKey key) {
    var state = keys.get(key.digest());
    if (state != null && (state.completed() || clock.instant().isBefore(state.expiresAt()))) {
      if (!state.request().equals(key.requestDigest())) {
        return new ClaimResult.IdempotencyKeyReused();
      }
      return state.completed() ? new ClaimResult.Completed() : new ClaimResult.InProgress();
    }
    var claim = new Claim(key, UUID.randomUUID());
    var expiresAt = clock.instant().plus(IdempotencyStore.CLAIM_TTL);
    keys.put(key.digest(), new ClaimState(claim.owner(), key.requestDigest(), expiresAt, false));
    return new ClaimResult.Granted(claim);
  }

  /** Completes the key of the claim; returns false when the claim is lost. */
  boolean complete(Claim claim) {
    var state = ownState(claim);
    if (state == null) {
      return false;
    }
    keys.put(
        claim.key().digest(),
        new ClaimState(claim.owner(), state.request(), state.expiresAt(), true));
    return true;
  }

  ClaimResult complete(UsedKey key) {
    var state = keys.get(key.digest());
    if (state != null && state.completed() && !state.request().equals(key.requestDigest())) {
      return new ClaimResult.IdempotencyKeyReused();
    }
    keys.put(
        key.digest(), new ClaimState(UUID.randomUUID(), key.requestDigest(), key.usedAt(), true));
    return new ClaimResult.Completed();
  }

  void release(Claim claim) {
    if (ownState(claim) != null) {
      keys.remove(claim.key().digest());
    }
  }

  /** Returns the state of a key that this claim has, not completed; null when it has none. */
  private @Nullable ClaimState ownState(Claim claim) {
    var state = keys.get(claim.key().digest());
    return state != null && !state.completed() && state.owner().equals(claim.owner())
        ? state
        : null;
  }

  Optional<ClaimResult> completedResult(IdempotencyKey key) {
    return Optional.ofNullable(keys.get(key.digest()))
        .filter(ClaimState::completed)
        .map(
            state ->
                state.request().equals(key.requestDigest())
                    ? new ClaimResult.Completed()
                    : new ClaimResult.IdempotencyKeyReused());
  }

  List<UsedKey> usedKeys() {
    return keys.entrySet().stream()
        .filter(key -> key.getValue().completed())
        .map(key -> new UsedKey(key.getKey(), key.getValue().request(), key.getValue().expiresAt()))
        .toList();
  }
}
