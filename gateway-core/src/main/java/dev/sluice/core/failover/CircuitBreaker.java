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
 * The circuit breaker in front of the primary spool. All calls to the primary go through it and
 * time out after the primary timeout, which {@link TimeoutScheduler} may detect slightly late. The
 * breaker opens at the first failure and closes after two successful probes in a row. Safe for use
 * by many threads; no method blocks.
 */
final class CircuitBreaker {
  private static final System.Logger LOG = System.getLogger(CircuitBreaker.class.getName());
  private static final Duration RETRY_AFTER = Duration.ofSeconds(1);

  /** Successful probes in a row after which the breaker closes. */
  private static final int REQUIRED_SUCCESSES = 2;

  /**
   * The state of the breaker.
   *
   * @param generation increases with each transition: the result of a call that began in an earlier
   *     generation does not affect this one
   * @param reason the reason why the breaker is open; null while it is closed
   */
  private record BreakerState(long generation, @Nullable String reason) {
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
  private volatile BreakerState state = new BreakerState(0, null);
  private volatile SpoolStatus lastStatus = new SpoolStatus(null, null, 0, 0);
  private volatile Runnable onClosed = () -> {};
  private volatile boolean stopped;

  /** Successful probes in a row. Guarded by this. */
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

  /** Returns the reason why the breaker is open; null while it is closed. */
  @Nullable String reason() {
    return state.reason();
  }

  /**
   * Checks that the breaker is closed, for periodic queries that must fail immediately instead of
   * waiting for the primary.
   *
   * @throws IllegalStateException if the breaker is open; the message is the reason
   */
  void requireClosed() {
    var reason = state.reason();
    if (reason != null) {
      throw new IllegalStateException(reason);
    }
  }

  /**
   * Starts the periodic probe of the primary.
   *
   * @param closedListener called each time the breaker closes; must not block
   */
  void start(Runnable closedListener) {
    onClosed = closedListener;
    probe();
  }

  void stop() {
    stopped = true;
  }

  /**
   * Runs an append to the primary. The future never fails: a failure or timeout becomes {@link
   * AppendResult.Unavailable} and opens the breaker.
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

  /**
   * Runs a claim in the primary. The future never fails: a failure or timeout becomes {@link
   * ClaimResult.Unavailable} and opens the breaker.
   */
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
   * Returns the status of the primary. If the primary does not respond, the status has the last
   * known counts, because its records are still pending.
   */
  CompletableFuture<SpoolStatus> status() {
    long generation = state.generation();
    return withTimeout(primary::status)
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
    // an unreachable spool does not know its counts
    if (current.outageReason() != null && current.deliveredRecords() == 0) {
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
        withTimeout(primary::status)
            .thenApply(current -> recordStatus(generation, current))
            .whenComplete(
                (current, failure) -> onProbeResult(generation, failure == null ? current : null));
    try {
      scheduler.schedule(settings.probeInterval(), this::probe);
    } catch (RuntimeException _) {
      stopped = true; // the scheduler rejects tasks during shutdown
    }
  }

  /**
   * Counts a probe; closes the breaker after enough successful ones.
   *
   * @param current the status of the primary; null if the probe failed, which does not open the
   *     breaker by itself: a failed append does
   */
  private synchronized void onProbeResult(long generation, @Nullable SpoolStatus current) {
    if (isClosed() || state.generation() != generation) {
      return;
    }
    consecutiveSuccesses =
        current == null || current.unavailableReason() != null ? 0 : consecutiveSuccesses + 1;
    if (consecutiveSuccesses >= REQUIRED_SUCCESSES) {
      state = new BreakerState(generation + 1, null);
      LOG.log(
          Level.INFO, "failover ended: {0} is available again, new records go to {0}", primaryName);
      onClosed.run();
    }
  }

  private synchronized void open(long generation, String reason) {
    if (!isClosed() || state.generation() != generation) {
      return; // already open, or the failure of a call from an earlier generation
    }
    state = new BreakerState(generation + 1, reason);
    consecutiveSuccesses = 0;
    LOG.log(
        Level.WARNING,
        "failover: {1} is unavailable, records go to {0} and are delivered from there: {2}",
        fallbackName,
        primaryName,
        reason);
  }

  /**
   * Runs a step; the future fails after the primary timeout, even if the step completes later. A
   * failure does not open the breaker.
   */
  <T> CompletableFuture<T> withTimeout(Supplier<CompletionStage<T>> step) {
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
    } catch (Throwable e) { // such as OutOfMemoryError: callers must get a result
      promise.completeExceptionally(e);
    }
    if (!promise.isDone()) {
      try {
        // the scheduled task references only the promise; it is cancelled on completion
        var cancelDeadline =
            timeoutScheduler.scheduleTimeout(
                settings.primaryTimeout(), () -> promise.completeExceptionally(timeoutException()));
        var _ = promise.whenComplete((_, _) -> cancelDeadline.run());
      } catch (RuntimeException _) {
        // the scheduler rejects tasks during shutdown; the primary has timeouts of its own
      }
    }
    return promise;
  }

  private TimeoutException timeoutException() {
    return new TimeoutException(
        "%s does not respond within %d ms"
            .formatted(primaryName, settings.primaryTimeout().toMillis()));
  }

  private static String describe(Throwable failure) {
    var cause = failure.getCause() == null ? failure : failure.getCause();
    return cause instanceof TimeoutException
        ? String.valueOf(cause.getMessage())
        : cause.toString();
  }
}
