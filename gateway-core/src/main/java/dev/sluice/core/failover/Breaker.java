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
final class Breaker {
  private static final System.Logger LOG = System.getLogger(Breaker.class.getName());
  private static final Duration SOON = Duration.ofSeconds(1);

  /** Answers without an obstacle in a row, from which the first counts as well. */
  private static final int WELL = 2;

  /**
   * @param round grows with each change: what was begun in an earlier one says nothing of this one
   * @param reason why it is open; null while it is closed
   */
  private record State(long round, @Nullable String reason) {
    boolean closed() {
      return reason == null;
    }
  }

  private final Spool first;
  private final String firstName;
  private final String secondName;
  private final Failover.Settings settings;
  private final Scheduler scheduler;
  private final TimeoutScheduler timeoutScheduler;
  private volatile State state = new State(0, null);
  private volatile SpoolStatus known = new SpoolStatus(null, null, 0, 0);
  private volatile boolean ended;

  /** Guarded by this. */
  private int well;

  Breaker(
      Failover.Side first,
      Failover.Side second,
      Failover.Settings settings,
      Scheduler scheduler,
      TimeoutScheduler timeoutScheduler) {
    this.first = first.spool();
    this.firstName = first.name();
    this.secondName = second.name();
    this.settings = settings;
    this.scheduler = scheduler;
    this.timeoutScheduler = timeoutScheduler;
  }

  boolean closed() {
    return state.closed();
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

  void end() {
    ended = true;
  }

  /** Whether it is open, waiting for that up to {@code patience}. */
  boolean awaitOpen(Duration patience) throws InterruptedException {
    return await(false, patience);
  }

  /** Whether it is closed, waiting for that up to {@code patience}. */
  boolean awaitClosed(Duration patience) throws InterruptedException {
    return await(true, patience);
  }

  private synchronized boolean await(boolean closed, Duration patience)
      throws InterruptedException {
    long deadline = System.nanoTime() + patience.toNanos();
    while (closed() != closed) {
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
    long round = state.round();
    return patiently(step)
        .exceptionally(failure -> new AppendResult.Unavailable(SOON, words(failure)))
        .whenComplete(
            (appended, _) -> {
              if (appended instanceof AppendResult.Unavailable(_, var reason, _)) {
                open(round, reason);
              }
            });
  }

  /** A claim in the first. Never fails; {@link ClaimResult.Unavailable} when it is in trouble. */
  CompletableFuture<ClaimResult> claim(Supplier<CompletionStage<ClaimResult>> step) {
    long round = state.round();
    return patiently(step)
        .exceptionally(failure -> new ClaimResult.Unavailable(SOON, words(failure)))
        .whenComplete(
            (claimed, _) -> {
              if (claimed instanceof ClaimResult.Unavailable(_, var reason)) {
                open(round, reason);
              }
            });
  }

  /**
   * How the first is. One that does not answer has the counts it had before: what it has waits all
   * the same.
   */
  CompletableFuture<SpoolStatus> condition() {
    long round = state.round();
    return patiently(first::spoolStatus)
        .thenApply(now -> learnt(round, now))
        .exceptionally(
            failure ->
                new SpoolStatus(
                    words(failure), null, known.pendingRecords(), known.deliveredRecords()));
  }

  private SpoolStatus learnt(long round, SpoolStatus now) {
    var obstacle = now.unavailableReason();
    if (obstacle != null) {
      open(round, obstacle);
    }
    if (now.outageReason() != null
        && now.deliveredRecords() == 0) { // one out of reach knows no counts
      return new SpoolStatus(
          now.outageReason(),
          now.notDurableReason(),
          known.pendingRecords(),
          known.deliveredRecords());
    }
    known = now;
    return now;
  }

  private void probe() {
    if (ended) {
      return;
    }
    long round = state.round();
    var _ =
        patiently(first::spoolStatus)
            .thenApply(now -> learnt(round, now))
            .whenComplete((now, failure) -> looked(round, failure == null ? now : null));
    try {
      scheduler.schedule(settings.probe(), this::probe);
    } catch (RuntimeException _) {
      ended = true; // the timer is shutting down, and so are we
    }
  }

  /**
   * @param now null when the first has not said, which alone is no reason to open: appends tell
   */
  private synchronized void looked(long round, @Nullable SpoolStatus now) {
    if (closed() || state.round() != round) {
      return;
    }
    well = now == null || now.unavailableReason() != null ? 0 : well + 1;
    if (well >= WELL) {
      state = new State(round + 1, null);
      notifyAll();
      LOG.log(Level.INFO, "{0} takes logs again", firstName);
    }
  }

  private synchronized void open(long round, String reason) {
    if (!closed() || state.round() != round) {
      return; // said before, or of an earlier trouble
    }
    state = new State(round + 1, reason);
    well = 0;
    notifyAll();
    LOG.log(
        Level.WARNING,
        settings.delivers()
            ? "logs go to {0}, and from there to the store: {2}"
            : "logs go to {0} and wait there for {1}: {2}",
        secondName,
        firstName,
        reason);
  }

  /** Ends with a failure when there is no answer in time, whatever the step does then. */
  private <T> CompletableFuture<T> patiently(Supplier<CompletionStage<T>> step) {
    var answer = new CompletableFuture<T>();
    try {
      var _ =
          step.get()
              .whenComplete(
                  (result, failure) -> {
                    if (failure == null) {
                      answer.complete(result);
                    } else {
                      answer.completeExceptionally(failure);
                    }
                  });
    } catch (Throwable e) { // such as no memory: those who wait are answered
      answer.completeExceptionally(e);
    }
    if (!answer.isDone()) {
      try {
        // holds the answer alone, which lets go of what waits for it as soon as it is there
        var met =
            timeoutScheduler.scheduleTimeout(
                settings.patience(), () -> answer.completeExceptionally(late()));
        var _ = answer.whenComplete((_, _) -> met.run());
      } catch (RuntimeException _) {
        // at the end of the process: the first ends its own waits in time
      }
    }
    return answer;
  }

  private TimeoutException late() {
    return new TimeoutException(
        "%s does not answer within %d ms".formatted(firstName, settings.patience().toMillis()));
  }

  private static String words(Throwable failure) {
    var cause = failure.getCause() == null ? failure : failure.getCause();
    return cause instanceof TimeoutException
        ? String.valueOf(cause.getMessage())
        : cause.toString();
  }
}
