package dev.sluice.core.port;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;

/**
 * Ends waits that take too long. Nearly every wait ends before its deadline, so that setting one
 * and taking it back must cost next to nothing; in return a deadline may be noticed a little late.
 * Safe for use by many threads.
 */
@FunctionalInterface
public interface Deadlines {
  /**
   * Runs {@code missed} when the time is over, on a thread that must not be kept.
   *
   * @return takes the deadline back, any number of times
   */
  Runnable set(Duration within, Runnable missed);

  /**
   * Fails {@code future} with a {@link TimeoutException} unless it is complete in time.
   *
   * @return {@code future}
   */
  default <T> CompletableFuture<T> within(Duration patience, CompletableFuture<T> future) {
    if (!future.isDone()) {
      var met =
          set(
              patience,
              () ->
                  future.completeExceptionally(
                      new TimeoutException("not within " + patience.toMillis() + " ms")));
      var _ = future.whenComplete((_, _) -> met.run());
    }
    return future;
  }
}
