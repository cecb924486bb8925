package dev.sluice.core.failover;

import dev.sluice.core.port.IdempotencyStore.ClaimResult;
import dev.sluice.core.port.Scheduler;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.AppendResult;
import dev.sluice.core.port.Spool.SpoolStatus;
import dev.sluice.core.port.TimeoutScheduler;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Whether the first spool is to be used, and everything that is asked of it: nothing waits for it
 * longer than its patience, which {@link TimeoutScheduler} may notice a little late. It opens at
 * the first sign of trouble, and closes when the first has been well twice in a row. Safe for use
 * by many threads; {@link #awaitOpen} and {@link #awaitClosed} alone block.
 */
final class CircuitBreaker {
  private static final System.Logger LOG = System.getLogger(CircuitBreaker.class.getName());
  private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

  /** Answers without an obstacle in a row, from which the first counts as well. */
  private static final int REQUIRED_SUCCESSES = 2;

  /**
   * @param generation grows with each change: what was begun in an earlier one says nothing of this
   *     one
   * @param reason why it is open; null while it is closed
   */
  private record State(long generation, @Nullable String reason) {
    boolean isClosed() {
      return reason == null;
    }
  }

  private final Spool primary;
  private final String primaryName;
  private final String fallbackName;
  private final FailoverSpool.FailoverSettings settings;
  private final Scheduler scheduler;
  private final TimeoutScheduler timeoutScheduler;
  private volatile State state = new State(0, null);
  private volatile SpoolStatus lastStatus = new SpoolStatus(null, null, 0, 0);
  private volatile boolean stopped;

  /** Guarded by this. */
  private int consecutiveSuccesses;

  CircuitBreaker(
      FailoverSpool.SpoolTarget primary,
      FailoverSpool.SpoolTarget fallback,
      FailoverSpool.FailoverSettings settings,
      Scheduler scheduler,
      TimeoutScheduler timeoutScheduler) {
    this.primary = primary.spool();
    this.primaryName = primary.name();
    this.fallbackName = fallback.name();
    this.settings = settings;
    this.scheduler = scheduler;
    this.timeoutScheduler = timeoutScheduler;
  }

  boolean isClosed() {
    return state.isClosed();
  }

  /** Why it is open; null while it is closed. */
  @Nullable String reason() {
    return state.reason();
  }

  /**
   * For questions that are worth no wait: whoever asks now and then is told at once that there is
   * no answer while the first is in trouble.
   *
   * @throws IllegalStateException while it is open
   */
  void requireClosed() {
    var reason = state.reason();
    if (reason != null) {
      throw new IllegalStateException(reason);
    }
  }

  /** Begins to ask the first how it is. */
  void start() {
    probe();
  }

  void stop() {
    stopped = true;
  }

  /** Whether it is open, waiting for that up to {@code patience}. */
  boolean awaitOpen(Duration timeout) throws InterruptedException {
    return await(false, timeout);
  }

  /** Whether it is closed, waiting for that up to {@code patience}. */
  boolean awaitClosed(Duration timeout) throws InterruptedException {
    return await(true, timeout);
  }

  private synchronized boolean await(boolean closed, Duration timeout) throws InterruptedException {
    long deadline = System.nanoTime() + timeout.toNanos();
    while (isClosed() != closed) {
      long millis = Duration.ofNanos(deadline - System.nanoTime()).toMillis();
      if (millis <= 0) {
        return false;
      }
      wait(millis);
    }
    return true;
  }

  /**
   * An append to the first. Never fails; {@link AppendResult.Unavailable} when it is in trouble.
   */
  CompletableFuture<AppendResult> append(Supplier<CompletionStage<AppendResult>> step) {
    long generation = state.generation();
    return withTimeout(step)
        .exceptionally(failure -> new AppendResult.Unavailable(RETRY_AFTER, describe(failure)))
        .whenComplete(
            (result, _) -> {
              if (result instanceof AppendResult.Unavailable(_, var reason, _)) {
                open(generation, reason);
              }
            });
  }

  /** A claim in the first. Never fails; {@link ClaimResult.Unavailable} when it is in trouble. */
  CompletableFuture<ClaimResult> claim(Supplier<CompletionStage<ClaimResult>> step) {
    long generation = state.generation();
    return withTimeout(step)
        .exceptionally(failure -> new ClaimResult.Unavailable(RETRY_AFTER, describe(failure)))
        .whenComplete(
            (result, _) -> {
              if (result instanceof ClaimResult.Unavailable(_, var reason)) {
                open(generation, reason);
              }
            });
  }

  /**
   * How the first is. One that does not answer has the counts it had before: what it has waits all
   * the same.
   */
  CompletableFuture<SpoolStatus> spoolStatus() {
    long generation = state.generation();
    return withTimeout(primary::spoolStatus)
        .thenApply(current -> recordStatus(generation, current))
        .exceptionally(
            failure ->
                new SpoolStatus(
                    describe(failure),
                    null,
                    lastStatus.pendingRecords(),
                    lastStatus.deliveredRecords()));
  }

  private SpoolStatus recordStatus(long generation, SpoolStatus current) {
    var obstacle = current.unavailableReason();
    if (obstacle != null) {
      open(generation, obstacle);
    }
    if (current.outageReason() != null
        && current.deliveredRecords() == 0) { // one out of reach knows no counts
      return new SpoolStatus(
          current.outageReason(),
          current.notDurableReason(),
          lastStatus.pendingRecords(),
          lastStatus.deliveredRecords());
    }
    lastStatus = current;
    return current;
  }

  private void probe() {
    if (stopped) {
      return;
    }
    long generation = state.generation();
    var _ =
        withTimeout(primary::spoolStatus)
            .thenApply(current -> recordStatus(generation, current))
            .whenComplete(
                (current, failure) -> onProbeResult(generation, failure == null ? current : null));
    try {
      scheduler.schedule(settings.probeInterval(), this::probe);
    } catch (RuntimeException _) {
      stopped = true; // the timer is shutting down, and so are we
    }
  }

  /**
   * @param current null when the first has not said, which alone is no reason to open: appends tell
   */
  private synchronized void onProbeResult(long generation, @Nullable SpoolStatus current) {
    if (isClosed() || state.generation() != generation) {
      return;
    }
    consecutiveSuccesses =
        current == null || current.unavailableReason() != null ? 0 : consecutiveSuccesses + 1;
    if (consecutiveSuccesses >= REQUIRED_SUCCESSES) {
      state = new State(generation + 1, null);
      notifyAll();
      LOG.log(Level.INFO, "{0} takes logs again", primaryName);
    }
  }

  private synchronized void open(long generation, String reason) {
    if (!isClosed() || state.generation() != generation) {
      return; // said before, or of an earlier trouble
    }
    state = new State(generation + 1, reason);
    consecutiveSuccesses = 0;
    notifyAll();
    LOG.log(
        Level.WARNING,
        settings.deliversFallback()
            ? "logs go to {0}, and from there to the store: {2}"
            : "logs go to {0} and wait there for {1}: {2}",
        fallbackName,
        primaryName,
        reason);
  }

  /** Ends with a failure when there is no answer in time, whatever the step does then. */
  private <T> CompletableFuture<T> withTimeout(Supplier<CompletionStage<T>> step) {
    var promise = new CompletableFuture<T>();
    try {
      var _ =
          step.get()
              .whenComplete(
                  (result, failure) -> {
                    if (failure == null) {
                      promise.complete(result);
                    } else {
                      promise.completeExceptionally(failure);
                    }
                  });
    } catch (Throwable e) { // such as no memory: those who wait are answered
      promise.completeExceptionally(e);
    }
    if (!promise.isDone()) {
      try {
        // holds the answer alone, which lets go of what waits for it as soon as it is there
        var cancelDeadline =
            timeoutScheduler.scheduleTimeout(
                settings.primaryTimeout(), () -> promise.completeExceptionally(timeoutException()));
        var _ = promise.whenComplete((_, _) -> cancelDeadline.run());
      } catch (RuntimeException _) {
        // at the end of the process: the first ends its own waits in time
      }
    }
    return promise;
  }

  private TimeoutException timeoutException() {
    return new TimeoutException(
        "%s does not answer within %d ms"
            .formatted(primaryName, settings.primaryTimeout().toMillis()));
  }

  private static String describe(Throwable failure) {
    var cause = failure.getCause() == null ? failure : failure.getCause();
    return cause instanceof TimeoutException
        ? String.valueOf(cause.getMessage())
        : cause.toString();
  }
}
