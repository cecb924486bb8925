package dev.sluice.api.boot;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.IdempotencyKeys;
import dev.sluice.core.port.Spool.Appended;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Until the spool remembers keys, whoever has one is told to come again. */
final class KeysAway implements IdempotencyKeys {
  private static final Duration LATER = Duration.ofSeconds(30);

  @Override
  public CompletionStage<Claimed> claim(Key key) {
    return CompletableFuture.completedStage(new Claimed.Away(LATER, "keys are not remembered"));
  }

  @Override
  public CompletionStage<Appended> append(LogBatch batch, Claim claim) {
    return CompletableFuture.completedStage(new Appended.Superseded());
  }

  @Override
  public CompletionStage<Void> release(Claim claim) {
    return CompletableFuture.completedStage(null);
  }
}
