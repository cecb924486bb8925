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
final class KnownKeys {
  /** They are in memory, beside those that the spools keep. */
  private static final int MOST = 100_000;

  private static final int MOST_DIVERTED = 10_000;

  private record Name(String tenant, String key) {}

  /**
   * @param owner of the claim; null until a spool has granted it, and when it is taken
   * @param second whether that is the second spool
   */
  private record Holder(
      UUID request, Instant until, boolean taken, @Nullable UUID owner, boolean second) {

    // spelled out: of a compact constructor's parameters, javac tells other modules no nullness
    private Holder(
        UUID request, Instant until, boolean taken, @Nullable UUID owner, boolean second) {
      this.request = request;
      this.until = until;
      this.taken = taken;
      this.owner = owner;
      this.second = second;
    }
  }

  private final Duration retention;
  private final InstantSource clock;

  /** Guarded by this. */
  private final Latest<Name, Holder> holders;

  /** Guarded by this; by append. */
  private final Latest<UUID, Claim> granted = new Latest<>(MOST_DIVERTED);

  KnownKeys(int keys, Duration retention, InstantSource clock) {
    this.holders = new Latest<>(Math.min(keys, MOST));
    this.retention = retention;
    this.clock = clock;
  }

  private static Name nameOf(IdempotencyStore.IdempotencyKey key) {
    return new Name(key.tenant(), key.key());
  }

  /**
   * Keeps the key for a request that is about to be claimed, before a spool is asked: two that come
   * at a change must not ask one each.
   *
   * @return what is known of the key; null when it is nobody's, and now the caller's
   */
  synchronized @Nullable ClaimResult reserve(IdempotencyStore.IdempotencyKey key) {
    var holder = holders.get(nameOf(key));
    if (holder != null && clock.instant().isBefore(holder.until())) {
      if (!holder.request().equals(key.requestDigest())) {
        return new ClaimResult.KeyReused();
      }
      return holder.taken() ? new ClaimResult.Completed() : new ClaimResult.InProgress();
    }
    put(key, IdempotencyStore.CLAIM_TTL, false, null, false);
    return null;
  }

  /** A spool has granted what was reserved. */
  synchronized void claimed(Claim claim, boolean second) {
    put(claim.key(), IdempotencyStore.CLAIM_TTL, false, claim.owner(), second);
  }

  synchronized boolean inSecond(Claim claim) {
    var holder = holders.get(nameOf(claim.key()));
    return holder != null && holder.second() && claim.owner().equals(holder.owner());
  }

  /** The request is in a spool. */
  synchronized void taken(IdempotencyStore.IdempotencyKey key) {
    put(key, retention, true, null, false);
  }

  /** Nothing came of what was reserved. */
  synchronized void free(IdempotencyStore.IdempotencyKey key) {
    holders.computeIfPresent(nameOf(key), (_, holder) -> holder.taken() ? holder : null);
  }

  /** As above, if the key is still under that claim. */
  synchronized void free(Claim claim) {
    holders.computeIfPresent(
        nameOf(claim.key()), (_, holder) -> claim.owner().equals(holder.owner()) ? null : holder);
  }

  /** The second takes what was to be appended in the first under that claim, or may have been. */
  synchronized void diverted(UUID appendId, Claim claim) {
    granted.put(appendId, claim);
  }

  /** The first's claim of a diverted append; null when there was none, or it was forgotten. */
  synchronized @Nullable Claim grantedByFirst(UUID appendId) {
    return granted.get(appendId);
  }

  private void put(
      IdempotencyStore.IdempotencyKey key,
      Duration lasting,
      boolean taken,
      @Nullable UUID owner,
      boolean second) {
    holders.put(
        nameOf(key),
        new Holder(key.requestDigest(), clock.instant().plus(lasting), taken, owner, second));
  }
}
