package dev.sluice.core.ingest;

import dev.sluice.core.port.TimeoutScheduler;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * A request that was handed in.
 *
 * @param result what to tell the client; never fails
 * @param released completes when nobody needs the request's memory any more, which may be before
 *     the answer or long after it; never fails
 */
public record IngestHandle(
    CompletableFuture<IngestResult> result, CompletableFuture<Void> released) {

  static IngestHandle completed(IngestResult result) {
    return new IngestHandle(
        CompletableFuture.completedFuture(result), CompletableFuture.completedFuture(null));
  }

  /**
   * The answer, or that the client should come again because its logs are not safe in time. What is
   * on its way is not cancelled: it is counted when it arrives. Never fails.
   *
   * @param scheduler where the wait's own is set
   * @param timeout with the spool; the store has a time of its own
   * @param retryAfter when to come again
   */
  public CompletableFuture<IngestResult> result(
      TimeoutScheduler scheduler, Duration timeout, Supplier<Duration> retryAfter) {
    if (result.isDone()) {
      return result;
    }
    return scheduler
        .orTimeout(timeout, CompletableFuture.anyOf(result, released))
        .thenCompose(_ -> result)
        .exceptionally(_ -> new IngestResult.Unavailable(retryAfter.get()));
  }
}
