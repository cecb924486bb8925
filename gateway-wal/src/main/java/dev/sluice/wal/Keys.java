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
final class Keys {

  /**
   * @param appending whether an append under it is under way: then it does not end
   */
  private record Held(UUID owner, UUID request, Instant until, boolean appending) {}

  private record Holder(UUID request, Instant at) {}

  private final int capacity;
  private final Duration retention;
  private final InstantSource clock;

  /** Oldest first, as are those taken. */
  private final Map<UUID, Held> claims = new LinkedHashMap<>();

  private final Map<UUID, Holder> taken = new LinkedHashMap<>();

  Keys(int capacity, Duration retention, InstantSource clock) {
    this.capacity = capacity;
    this.retention = retention;
    this.clock = clock;
  }

  synchronized ClaimResult claim(IdempotencyStore.IdempotencyKey key) {
    var taken = taken(key);
    if (taken.isPresent()) {
      return taken.get();
    }
    var digest = key.digest();
    var now = clock.instant();
    var held = claims.get(digest);
    if (held != null && (held.appending() || now.isBefore(held.until()))) {
      return held.request().equals(key.requestDigest())
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
    claims.put(digest, new Held(claim.owner(), key.requestDigest(), until, false));
    return new ClaimResult.Granted(claim);
  }

  /** See {@link IdempotencyStore#cachedResult}. */
  synchronized Optional<ClaimResult> taken(IdempotencyStore.IdempotencyKey key) {
    forget(clock.instant());
    var holder = taken.get(key.digest());
    if (holder == null) {
      return Optional.empty();
    }
    boolean same = holder.request().equals(key.requestDigest());
    return Optional.of(same ? new ClaimResult.Completed() : new ClaimResult.KeyReused());
  }

  /** The oldest claims that have ended, and the oldest keys that are too old or too many. */
  private void forget(Instant now) {
    var held = claims.values().iterator();
    while (held.hasNext()) {
      var oldest = held.next();
      if (oldest.appending() || now.isBefore(oldest.until())) {
        break;
      }
      held.remove();
    }
    var holders = taken.values().iterator();
    while (holders.hasNext()) {
      if (!holders.next().at().plus(retention).isBefore(now) && taken.size() <= capacity) {
        break;
      }
      holders.remove();
    }
  }

  synchronized void release(Claim claim) {
    var digest = claim.key().digest();
    if (isHeld(digest, claim)) {
      claims.remove(digest);
    }
  }

  /** An append under the claim begins, unless it is no longer its owner's. */
  synchronized boolean begin(Claim claim) {
    var digest = claim.key().digest();
    if (!isHeld(digest, claim)) {
      return false;
    }
    claims.computeIfPresent(
        digest, (_, held) -> new Held(held.owner(), held.request(), held.until(), true));
    return true;
  }

  private boolean isHeld(UUID digest, Claim claim) {
    var held = claims.get(digest);
    return held != null && held.owner().equals(claim.owner()) && !held.appending();
  }

  /** That append failed: the claim is as it was. */
  synchronized void undo(Claim claim) {
    claims.computeIfPresent(
        claim.key().digest(),
        (_, held) -> new Held(held.owner(), held.request(), held.until(), false));
  }

  /** For good. */
  synchronized void take(Event.Taken key) {
    claims.remove(key.digest());
    taken.remove(key.digest());
    taken.put(key.digest(), new Holder(key.request(), key.at()));
    forget(clock.instant());
  }

  /** As it will be written down. */
  static Event.Taken taken(IdempotencyStore.IdempotencyKey key, long receivedNanos) {
    return new Event.Taken(
        key.digest(), key.requestDigest(), Instant.ofEpochMilli(receivedNanos / 1_000_000));
  }

  /** All that were taken, oldest first. */
  synchronized List<Event.Taken> all() {
    var all = new ArrayList<Event.Taken>(taken.size());
    taken.forEach(
        (digest, holder) -> all.add(new Event.Taken(digest, holder.request(), holder.at())));
    return all;
  }
}
