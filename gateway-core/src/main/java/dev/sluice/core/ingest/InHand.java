package dev.sluice.core.ingest;

import dev.sluice.core.port.Deadlines;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * A request that was handed in.
 *
 * @param answer what to tell the client; never fails
 * @param free completes when nobody needs the request's memory any more, which may be before the
 *     answer or long after it; never fails
 */
public record InHand(CompletableFuture<Ingested> answer, CompletableFuture<Void> free) {

  static InHand done(Ingested ingested) {
    return new InHand(
        CompletableFuture.completedFuture(ingested), CompletableFuture.completedFuture(null));
  }

  /**
   * The answer, or that the client should come again because its logs are not safe in time. What is
   * on its way is not cancelled: it is counted when it arrives. Never fails.
   *
   * @param deadlines where the wait's own is set
   * @param patience with the spool; the store has a time of its own
   * @param retryAfter when to come again
   */
  public CompletableFuture<Ingested> answer(
      Deadlines deadlines, Duration patience, Supplier<Duration> retryAfter) {
    if (answer.isDone()) {
      return answer;
    }
    return deadlines
        .within(patience, CompletableFuture.anyOf(answer, free))
        .thenCompose(_ -> answer)
        .exceptionally(_ -> new Ingested.Busy(retryAfter.get()));
  }
}
