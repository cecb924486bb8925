package dev.sluice.wal;

import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.IdempotencyStore.Claim;
import dev.sluice.core.port.IdempotencyStore.ClaimResult;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;

/**
 * The idempotency keys in memory, by digest: digests have a fixed length and contain no text of a
 * client. Claims exist only in this process; used keys are also in the frames and in the journal.
 *
 * <p>Safe for use by many threads; no method blocks.
 */
final class IdempotencyKeyTable {

  /**
   * A claim that is neither released nor used.
   *
   * @param owner the owner of the claim
   * @param request the digest of the request
   * @param until the time at which the claim expires
   * @param appending whether an append under the claim is in flight, which prevents its expiry
   */
  private record PendingClaim(UUID owner, UUID request, Instant until, boolean appending) {}

  /** A used key, with the digest of its request and the receive time. */
  private record CompletedKeyAt(UUID request, Instant at) {}

  private final int capacity;
  private final Duration retention;
  private final InstantSource clock;

  /** Claims by digest, oldest first. */
  private final Map<UUID, PendingClaim> claims = new LinkedHashMap<>();

  /** Used keys by digest, oldest first. */
  private final Map<UUID, CompletedKeyAt> completedKeys = new LinkedHashMap<>();

  IdempotencyKeyTable(int capacity, Duration retention, InstantSource clock) {
    this.capacity = capacity;
    this.retention = retention;
    this.clock = clock;
  }

  synchronized ClaimResult claim(IdempotencyStore.IdempotencyKey key) {
    var completed = completedKey(key);
    if (completed.isPresent()) {
      return completed.get();
    }
    var digest = key.digest();
    var now = clock.instant();
    var pending = claims.get(digest);
    if (pending != null && (pending.appending() || now.isBefore(pending.until()))) {
      return pending.request().equals(key.requestDigest())
          ? new ClaimResult.InProgress()
          : new ClaimResult.IdempotencyKeyReused();
    }
    if (claims.size() >= capacity) {
      return new ClaimResult.Unavailable(
          Duration.ofSeconds(1), "maximum number of claimed keys reached: " + claims.size());
    }
    var claim = new Claim(key, UUID.randomUUID());
    claims.remove(digest); // so that the new claim is the newest entry
    var until = now.plus(IdempotencyStore.CLAIM_TTL);
    claims.put(digest, new PendingClaim(claim.owner(), key.requestDigest(), until, false));
    return new ClaimResult.Granted(claim);
  }

  /** See {@link IdempotencyStore#cachedResult}. */
  synchronized Optional<ClaimResult> completedKey(IdempotencyStore.IdempotencyKey key) {
    evict(clock.instant());
    var completedKeyAt = completedKeys.get(key.digest());
    if (completedKeyAt == null) {
      return Optional.empty();
    }
    boolean same = completedKeyAt.request().equals(key.requestDigest());
    return Optional.of(same ? new ClaimResult.Completed() : new ClaimResult.IdempotencyKeyReused());
  }

  /** Removes expired claims, and the oldest keys that are too old or above the capacity. */
  private void evict(Instant now) {
    var pending = claims.values().iterator();
    while (pending.hasNext()) {
      var oldest = pending.next();
      if (oldest.appending() || now.isBefore(oldest.until())) {
        break;
      }
      pending.remove();
    }
    var completions = completedKeys.values().iterator();
    while (completions.hasNext()) {
      if (!completions.next().at().plus(retention).isBefore(now)
          && completedKeys.size() <= capacity) {
        break;
      }
      completions.remove();
    }
  }

  synchronized void release(Claim claim) {
    var digest = claim.key().digest();
    if (isPending(digest, claim)) {
      claims.remove(digest);
    }
  }

  /**
   * Starts an append under a claim.
   *
   * @return false when the claim no longer belongs to its owner
   */
  synchronized boolean beginAppend(Claim claim) {
    var digest = claim.key().digest();
    if (!isPending(digest, claim)) {
      return false;
    }
    claims.computeIfPresent(
        digest,
        (_, pending) ->
            new PendingClaim(pending.owner(), pending.request(), pending.until(), true));
    return true;
  }

  private boolean isPending(UUID digest, Claim claim) {
    var pending = claims.get(digest);
    return pending != null && pending.owner().equals(claim.owner()) && !pending.appending();
  }

  /** Ends an append that failed: the claim is pending again. */
  synchronized void abortAppend(Claim claim) {
    claims.computeIfPresent(
        claim.key().digest(),
        (_, pending) ->
            new PendingClaim(pending.owner(), pending.request(), pending.until(), false));
  }

  /** Marks a key as used. */
  synchronized void complete(JournalEvent.CompletedKey key) {
    claims.remove(key.digest());
    completedKeys.remove(key.digest());
    completedKeys.put(key.digest(), new CompletedKeyAt(key.request(), key.at()));
    evict(clock.instant());
  }

  /** Returns the used key as it is written to the journal. */
  static JournalEvent.CompletedKey completedKey(
      IdempotencyStore.IdempotencyKey key, long receivedNanos) {
    return new JournalEvent.CompletedKey(
        key.digest(), key.requestDigest(), Instant.ofEpochMilli(receivedNanos / 1_000_000));
  }

  /** Returns all used keys, oldest first. */
  synchronized List<JournalEvent.CompletedKey> completedKeys() {
    var keys = new ArrayList<JournalEvent.CompletedKey>(completedKeys.size());
    completedKeys.forEach(
        (digest, completedKeyAt) ->
            keys.add(
                new JournalEvent.CompletedKey(
                    digest, completedKeyAt.request(), completedKeyAt.at())));
    return keys;
  }
}
