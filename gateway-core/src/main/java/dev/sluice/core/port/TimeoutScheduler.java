package dev.sluice.core.port;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * A scheduler of timeouts. Nearly every wait ends before its timeout, so scheduling and cancelling
 * must be very cheap; in return a timeout may run slightly late. Thread-safe.
 */
@FunctionalInterface
public interface TimeoutScheduler {
  /**
   * Runs {@code onTimeout} after the timeout, on a thread that the task must not block. The
   * scheduler may keep a reference to the task for a short time after the cancellation, so the task
   * should not retain much memory.
   *
   * @return an action that cancels the timeout and may run any number of times
   * @throws RuntimeException when the scheduler is shut down, as at the end of the process
   */
  Runnable scheduleTimeout(Duration timeout, Runnable onTimeout);

  /**
   * Completes {@code future} with a {@link TimeoutException} unless it completes in time.
   *
   * @return {@code future}
   */
  default <T> CompletableFuture<T> orTimeout(Duration timeout, CompletableFuture<T> future) {
    if (future.isDone()) {
      return future;
    }
    var pending =
        new AtomicReference<@Nullable CompletableFuture<T>>(future); // frees a large result early
    Runnable onTimeout =
        () -> {
          var unfinished = pending.get();
          if (unfinished != null) {
            unfinished.completeExceptionally(
                new TimeoutException("timed out after " + timeout.toMillis() + " ms"));
          }
        };
    try {
      var cancellation = scheduleTimeout(timeout, onTimeout);
      var _ =
          future.whenComplete(
              (_, _) -> {
                pending.set(null);
                cancellation.run();
              });
    } catch (RuntimeException e) {
      future.completeExceptionally(e); // without a timeout the wait could be endless
    }
    return future;
  }
}
