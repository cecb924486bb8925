package dev.sluice.core.ingest;

import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.Fate;
import dev.sluice.core.port.Spool.Receipt;
import dev.sluice.core.port.Timer;
import java.time.Duration;
import java.util.OptionalInt;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Waits for appended records to be stored: asks the spool what became of them, all waiting ones at
 * one beat, until it is known or their time is over. Safe for use by many threads.
 */
final class Confirmations {
  private static final Duration BEAT = Duration.ofMillis(100);

  /** Asked at one beat; those behind have their turn at the next. */
  private static final int QUESTIONS = 1_000;

  /** Beyond it nobody waits: a question each would be more than the spool should bear. */
  private static final int MOST_WAITING = 50_000;

  private final Spool spool;
  private final Timer timer;
  private final Duration patience;
  private final Queue<Waiting> waiting = new ConcurrentLinkedQueue<>();
  private final AtomicInteger size = new AtomicInteger();
  private final AtomicBoolean beating = new AtomicBoolean();

  private record Waiting(
      Receipt receipt, LogId first, int records, CompletableFuture<OptionalInt> deadLetters) {}

  Confirmations(Spool spool, Timer timer, Duration patience) {
    this.spool = spool;
    this.timer = timer;
    this.patience = patience;
  }

  /**
   * How many of the records became dead letters, once all are settled; empty when that is not known
   * in time. Never fails.
   */
  CompletableFuture<OptionalInt> await(Receipt receipt, LogId first, int records) {
    if (size.incrementAndGet() > MOST_WAITING) {
      size.decrementAndGet();
      return CompletableFuture.completedFuture(OptionalInt.empty());
    }
    var one = new Waiting(receipt, first, records, new CompletableFuture<>());
    var _ = one.deadLetters().whenComplete((_, _) -> size.decrementAndGet());
    waiting.add(one);
    beat();
    try {
      // by the timer and not by the clock, which may be set back
      timer.after(patience, () -> one.deadLetters().complete(OptionalInt.empty()));
    } catch (RuntimeException _) { // a timer that is shutting down: nobody may wait for it
      one.deadLetters().complete(OptionalInt.empty());
    }
    return one.deadLetters();
  }

  private void beat() {
    if (!waiting.isEmpty() && beating.compareAndSet(false, true)) {
      try {
        timer.after(BEAT, this::askAll);
      } catch (RuntimeException _) { // a timer that is shutting down: nobody may wait for it
        beating.set(false);
        for (var one = waiting.poll(); one != null; one = waiting.poll()) {
          one.deadLetters().complete(OptionalInt.empty());
        }
      }
    }
  }

  private void askAll() {
    try {
      int questions = Math.min(QUESTIONS, size.get());
      for (var one = waiting.poll(); one != null; one = waiting.poll()) {
        if (!one.deadLetters().isDone()) {
          ask(one);
          if (--questions <= 0) {
            break;
          }
        }
      }
    } finally { // also when memory runs out: the others wait
      beating.set(false);
      beat();
    }
  }

  private void ask(Waiting one) {
    CompletionStage<Fate> fate;
    try {
      fate = spool.fate(one.receipt(), one.first(), one.records());
    } catch (RuntimeException e) {
      fate = CompletableFuture.completedStage(new Fate.Unknown(e.toString()));
    }
    var _ =
        fate.exceptionally(e -> new Fate.Unknown(e.toString()))
            .thenAccept(
                answer -> {
                  if (answer instanceof Fate.Settled(var deadLettered)) {
                    one.deadLetters().complete(OptionalInt.of(deadLettered));
                  } else if (!one.deadLetters().isDone()) {
                    waiting.add(one); // also when the spool cannot say: it may in a moment
                    beat();
                  }
                });
  }
}
