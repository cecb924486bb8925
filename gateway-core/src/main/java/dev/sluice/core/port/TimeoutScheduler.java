package dev.sluice.core.port;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Ends waits that take too long. Nearly every wait ends before its deadline, so that setting one
 * and taking it back must cost next to nothing; in return a deadline may be noticed a little late.
 * Safe for use by many threads.
 */
@FunctionalInterface
public interface TimeoutScheduler {
  /**
   * Runs {@code missed} when the time is over, on a thread that must not be kept. It may be held a
   * little longer than until the deadline is taken back, so it should not hold much.
   *
   * @return takes the deadline back, any number of times
   * @throws RuntimeException when no deadlines are kept any more, as at the end of the process
   */
  Runnable scheduleTimeout(Duration timeout, Runnable onTimeout);

  /**
   * Fails {@code future} with a {@link TimeoutException} unless it is complete in time.
   *
   * @return {@code future}
   */
  default <T> CompletableFuture<T> orTimeout(Duration timeout, CompletableFuture<T> future) {
    if (future.isDone()) {
      return future;
    }
    var pending =
        new AtomicReference<@Nullable CompletableFuture<T>>(future); // its result is large
    Runnable onTimeout =
        () -> {
          var unfinished = pending.get();
          if (unfinished != null) {
            unfinished.completeExceptionally(
                new TimeoutException("not within " + timeout.toMillis() + " ms"));
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
      future.completeExceptionally(e); // nobody would end the wait
    }
    return future;
  }
}
