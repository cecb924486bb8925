package dev.sluice.core.failover;

import dev.sluice.core.port.Deadlines;
import dev.sluice.core.port.IdempotencyKeys.Claimed;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.Appended;
import dev.sluice.core.port.Spool.Condition;
import dev.sluice.core.port.Timer;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Whether the first spool is to be used, and everything that is asked of it: nothing waits for it
 * longer than its patience, which {@link Deadlines} may notice a little late. It opens at the first
 * sign of trouble, and closes when the first has been well twice in a row. Safe for use by many
 * threads; {@link #awaitOpen} and {@link #awaitClosed} alone block.
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
  private final Timer timer;
  private final Deadlines deadlines;
  private volatile State state = new State(0, null);
  private volatile Condition known = new Condition(null, null, 0, 0);
  private volatile boolean ended;

  /** Guarded by this. */
  private int well;

  Breaker(
      Failover.Side first,
      Failover.Side second,
      Failover.Settings settings,
      Timer timer,
      Deadlines deadlines) {
    this.first = first.spool();
    this.firstName = first.name();
    this.secondName = second.name();
    this.settings = settings;
    this.timer = timer;
    this.deadlines = deadlines;
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

  /** An append to the first. Never fails; {@link Appended.Busy} when it is in trouble. */
  CompletableFuture<Appended> append(Supplier<CompletionStage<Appended>> step) {
    long round = state.round();
    return patiently(step)
        .exceptionally(failure -> new Appended.Busy(SOON, words(failure)))
        .whenComplete(
            (appended, _) -> {
              if (appended instanceof Appended.Busy(_, var reason, _)) {
                open(round, reason);
              }
            });
  }

  /** A claim in the first. Never fails; {@link Claimed.Away} when it is in trouble. */
  CompletableFuture<Claimed> claim(Supplier<CompletionStage<Claimed>> step) {
    long round = state.round();
    return patiently(step)
        .exceptionally(failure -> new Claimed.Away(SOON, words(failure)))
        .whenComplete(
            (claimed, _) -> {
              if (claimed instanceof Claimed.Away(_, var reason)) {
                open(round, reason);
              }
            });
  }

  /**
   * How the first is. One that does not answer has the counts it had before: what it has waits all
   * the same.
   */
  CompletableFuture<Condition> condition() {
    long round = state.round();
    return patiently(first::condition)
        .thenApply(now -> learnt(round, now))
        .exceptionally(
            failure -> new Condition(words(failure), null, known.waiting(), known.settled()));
  }

  private Condition learnt(long round, Condition now) {
    var obstacle = now.obstacle();
    if (obstacle != null) {
      open(round, obstacle);
    }
    if (now.unavailable() != null && now.settled() == 0) { // one out of reach knows no counts
      return new Condition(now.unavailable(), now.notDurable(), known.waiting(), known.settled());
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
        patiently(first::condition)
            .thenApply(now -> learnt(round, now))
            .whenComplete((now, failure) -> looked(round, failure == null ? now : null));
    try {
      timer.after(settings.probe(), this::probe);
    } catch (RuntimeException _) {
      ended = true; // the timer is shutting down, and so are we
    }
  }

  /**
   * @param now null when the first has not said, which alone is no reason to open: appends tell
   */
  private synchronized void looked(long round, @Nullable Condition now) {
    if (closed() || state.round() != round) {
      return;
    }
    well = now == null || now.obstacle() != null ? 0 : well + 1;
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
        var met = deadlines.set(settings.patience(), () -> answer.completeExceptionally(late()));
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
