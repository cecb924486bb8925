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
 * Idempotency keys, by their digests: of fixed length, and nothing that a client wrote. Claims are
 * of this process alone; keys that were taken are in the frames and in the journal too.
 *
 * <p>Safe for use by many threads; never blocks.
 */
final class IdempotencyKeyTable {

  /**
   * @param appending whether an append under it is under way: then it does not end
   */
  private record PendingClaim(UUID owner, UUID request, Instant until, boolean appending) {}

  private record Completion(UUID request, Instant at) {}

  private final int capacity;
  private final Duration retention;
  private final InstantSource clock;

  /** Oldest first, as are those taken. */
  private final Map<UUID, PendingClaim> claims = new LinkedHashMap<>();

  private final Map<UUID, Completion> completedKeys = new LinkedHashMap<>();

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
          : new ClaimResult.KeyReused();
    }
    if (claims.size() >= capacity) {
      return new ClaimResult.Unavailable(
          Duration.ofSeconds(1), claims.size() + " keys are claimed");
    }
    var claim = new Claim(key, UUID.randomUUID());
    claims.remove(digest); // it is young again
    var until = now.plus(IdempotencyStore.CLAIM_TTL);
    claims.put(digest, new PendingClaim(claim.owner(), key.requestDigest(), until, false));
    return new ClaimResult.Granted(claim);
  }

  /** See {@link IdempotencyStore#cachedResult}. */
  synchronized Optional<ClaimResult> completedKey(IdempotencyStore.IdempotencyKey key) {
    evict(clock.instant());
    var completion = completedKeys.get(key.digest());
    if (completion == null) {
      return Optional.empty();
    }
    boolean same = completion.request().equals(key.requestDigest());
    return Optional.of(same ? new ClaimResult.Completed() : new ClaimResult.KeyReused());
  }

  /** The oldest claims that have ended, and the oldest keys that are too old or too many. */
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

  /** An append under the claim begins, unless it is no longer its owner's. */
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

  /** That append failed: the claim is as it was. */
  synchronized void abortAppend(Claim claim) {
    claims.computeIfPresent(
        claim.key().digest(),
        (_, pending) ->
            new PendingClaim(pending.owner(), pending.request(), pending.until(), false));
  }

  /** For good. */
  synchronized void complete(JournalEvent.CompletedKey key) {
    claims.remove(key.digest());
    completedKeys.remove(key.digest());
    completedKeys.put(key.digest(), new Completion(key.request(), key.at()));
    evict(clock.instant());
  }

  /** As it will be written down. */
  static JournalEvent.CompletedKey completedKey(
      IdempotencyStore.IdempotencyKey key, long receivedNanos) {
    return new JournalEvent.CompletedKey(
        key.digest(), key.requestDigest(), Instant.ofEpochMilli(receivedNanos / 1_000_000));
  }

  /** All that were taken, oldest first. */
  synchronized List<JournalEvent.CompletedKey> completedKeys() {
    var all = new ArrayList<JournalEvent.CompletedKey>(completedKeys.size());
    completedKeys.forEach(
        (digest, completion) ->
            all.add(new JournalEvent.CompletedKey(digest, completion.request(), completion.at())));
    return all;
  }
}
