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

/** Remembers keys for ever, and appends to a spool that the test answers for. */
final class FakeIdempotencyStore implements IdempotencyStore {
  private final Spool spool;
  private final Map<String, StoredKey> keys = new HashMap<>();
  private @Nullable String unavailableReason;
  private boolean takenOver;

  private record StoredKey(UUID request, Claim claim, boolean taken) {}

  FakeIdempotencyStore(Spool spool) {
    this.spool = spool;
  }

  /** Nobody can tell from now on; null when they can again. */
  void setUnavailable(@Nullable String reason) {
    unavailableReason = reason;
  }

  /** Whoever appends from now on has waited too long: another has taken its claim over. */
  void takeOver() {
    takenOver = true;
  }

  @Override
  public CompletionStage<ClaimResult> claim(IdempotencyKey key) {
    return CompletableFuture.completedStage(claimResult(key));
  }

  private ClaimResult claimResult(IdempotencyKey key) {
    if (unavailableReason != null) {
      return new ClaimResult.Unavailable(Duration.ofSeconds(1), unavailableReason);
    }
    var one = keys.get(key.key());
    if (one == null) {
      var claim = new Claim(key, UUID.randomUUID());
      keys.put(key.key(), new StoredKey(key.requestDigest(), claim, false));
      return new ClaimResult.Granted(claim);
    }
    if (!one.request().equals(key.requestDigest())) {
      return new ClaimResult.KeyReused();
    }
    return one.taken() ? new ClaimResult.Completed() : new ClaimResult.InProgress();
  }

  @Override
  public CompletionStage<AppendResult> append(LogBatch batch, Claim claim, AppendMode appendMode) {
    var one = keys.get(claim.key().key());
    if (takenOver || one == null || !one.claim().equals(claim)) {
      return CompletableFuture.completedStage(new AppendResult.ClaimLost());
    }
    return spool
        .append(batch)
        .thenApply(
            appendResult -> {
              if (appendResult instanceof AppendResult.Accepted) {
                keys.put(claim.key().key(), new StoredKey(one.request(), claim, true));
              }
              return appendResult;
            });
  }

  @Override
  public CompletionStage<Void> release(Claim claim) {
    var one = keys.get(claim.key().key());
    if (one != null && one.claim().equals(claim) && !one.taken()) {
      keys.remove(claim.key().key());
    }
    return CompletableFuture.completedStage(null);
  }
}
