package dev.sluice.core.ingest;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.IdempotencyKeys;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.Appended;
import dev.sluice.core.port.Spool.Manner;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** Remembers keys for ever, and appends to a spool that the test answers for. */
final class HandKeys implements IdempotencyKeys {
  private final Spool spool;
  private final Map<String, Known> known = new HashMap<>();
  private @Nullable String away;
  private boolean takenOver;

  private record Known(UUID request, Claim claim, boolean taken) {}

  HandKeys(Spool spool) {
    this.spool = spool;
  }

  /** Nobody can tell from now on; null when they can again. */
  void away(@Nullable String reason) {
    away = reason;
  }

  /** Whoever appends from now on has waited too long: another has taken its claim over. */
  void takeOver() {
    takenOver = true;
  }

  @Override
  public CompletionStage<Claimed> claim(Key key) {
    return CompletableFuture.completedStage(claimed(key));
  }

  private Claimed claimed(Key key) {
    if (away != null) {
      return new Claimed.Away(Duration.ofSeconds(1), away);
    }
    var one = known.get(key.key());
    if (one == null) {
      var claim = new Claim(key, UUID.randomUUID());
      known.put(key.key(), new Known(key.request(), claim, false));
      return new Claimed.Mine(claim);
    }
    if (!one.request().equals(key.request())) {
      return new Claimed.Another();
    }
    return one.taken() ? new Claimed.Taken() : new Claimed.UnderWay();
  }

  @Override
  public CompletionStage<Appended> append(LogBatch batch, Claim claim, Manner manner) {
    var one = known.get(claim.key().key());
    if (takenOver || one == null || !one.claim().equals(claim)) {
      return CompletableFuture.completedStage(new Appended.Superseded());
    }
    return spool
        .append(batch)
        .thenApply(
            appended -> {
              if (appended instanceof Appended.Accepted) {
                known.put(claim.key().key(), new Known(one.request(), claim, true));
              }
              return appended;
            });
  }

  @Override
  public CompletionStage<Void> release(Claim claim) {
    var one = known.get(claim.key().key());
    if (one != null && one.claim().equals(claim) && !one.taken()) {
      known.remove(claim.key().key());
    }
    return CompletableFuture.completedStage(null);
  }
}
