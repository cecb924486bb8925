package dev.sluice.core.ingest;

import dev.sluice.core.port.TimeoutScheduler;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/**
 * A handle on a submitted request.
 *
 * @param result completes with the result for the client; never fails
 * @param released completes when the memory of the request is no longer used, which may be before
 *     or long after the result; never fails
 */
public record IngestHandle(
    CompletableFuture<IngestResult> result, CompletableFuture<Void> released) {

  static IngestHandle completed(IngestResult result) {
    return new IngestHandle(
        CompletableFuture.completedFuture(result), CompletableFuture.completedFuture(null));
  }

  /**
   * Returns the result, or {@link IngestResult.Unavailable} when the append to the spool does not
   * complete in time. A timeout does not cancel the append; its records are counted when it
   * completes. The future never fails.
   *
   * @param scheduler the scheduler of the timeout
   * @param timeout the maximum wait for the spool; the wait for the store has its own timeout
   * @param retryAfter the source of the retry delay after a timeout
   */
  public CompletableFuture<IngestResult> resultWithin(
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
