package dev.sluice.core.ingest;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.core.port.Spool.AppendResult;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** An idempotency store in memory that appends to the given spool; its keys do not expire. */
final class FakeIdempotencyStore implements IdempotencyStore {
  private final Spool spool;
  private final Map<String, StoredKey> keys = new HashMap<>();
  private @Nullable String unavailableReason;
  private boolean claimsLost;

  private record StoredKey(UUID request, Claim claim, boolean completed) {}

  FakeIdempotencyStore(Spool spool) {
    this.spool = spool;
  }

  /** Makes all following claims unavailable with this reason; null makes them available. */
  void setUnavailable(@Nullable String reason) {
    unavailableReason = reason;
  }

  /** Makes all following appends fail, as if another request had taken over the claim. */
  void loseClaims() {
    claimsLost = true;
  }

  @Override
  public CompletionStage<ClaimResult> claim(IdempotencyKey key) {
    return CompletableFuture.completedStage(claimResult(key));
  }

  private ClaimResult claimResult(IdempotencyKey key) {
    if (unavailableReason != null) {
      return new ClaimResult.Unavailable(Duration.ofSeconds(1), unavailableReason);
    }
    var storedKey = keys.get(key.key());
    if (storedKey == null) {
      var claim = new Claim(key, UUID.randomUUID());
      keys.put(key.key(), new StoredKey(key.requestDigest(), claim, false));
      return new ClaimResult.Granted(claim);
    }
    if (!storedKey.request().equals(key.requestDigest())) {
      return new ClaimResult.IdempotencyKeyReused();
    }
    return storedKey.completed() ? new ClaimResult.Completed() : new ClaimResult.InProgress();
  }

  @Override
  public CompletionStage<AppendResult> append(LogBatch batch, Claim claim, AppendMode appendMode) {
    var storedKey = keys.get(claim.key().key());
    if (claimsLost || storedKey == null || !storedKey.claim().equals(claim)) {
      return CompletableFuture.completedStage(new AppendResult.ClaimLost());
    }
    return spool
        .append(batch, AppendMode.SYNC)
        .thenApply(
            appendResult -> {
              if (appendResult instanceof AppendResult.Accepted) {
                keys.put(claim.key().key(), new StoredKey(storedKey.request(), claim, true));
              }
              return appendResult;
            });
  }

  @Override
  public CompletionStage<Void> release(Claim claim) {
    var storedKey = keys.get(claim.key().key());
    if (storedKey != null && storedKey.claim().equals(claim) && !storedKey.completed()) {
      keys.remove(claim.key().key());
    }
    return CompletableFuture.completedStage(null);
  }
}
