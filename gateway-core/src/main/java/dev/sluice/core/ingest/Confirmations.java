package dev.sluice.core.ingest;

import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.Fate;
import dev.sluice.core.port.Spool.Receipt;
import dev.sluice.core.port.Timer;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
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
  private final InstantSource clock;
  private final Timer timer;
  private final Duration patience;
  private final Queue<Waiting> waiting = new ConcurrentLinkedQueue<>();
  private final AtomicInteger size = new AtomicInteger();
  private final AtomicBoolean beating = new AtomicBoolean();

  private record Waiting(
      Receipt receipt,
      LogId first,
      int records,
      Instant until,
      CompletableFuture<OptionalInt> deadLetters) {}

  Confirmations(Spool spool, InstantSource clock, Timer timer, Duration patience) {
    this.spool = spool;
    this.clock = clock;
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
    var one =
        new Waiting(
            receipt, first, records, clock.instant().plus(patience), new CompletableFuture<>());
    waiting.add(one);
    beat();
    return one.deadLetters();
  }

  private void beat() {
    if (!waiting.isEmpty() && beating.compareAndSet(false, true)) {
      try {
        timer.after(BEAT, this::askAll);
      } catch (RuntimeException _) { // a timer that is shutting down: nobody may wait for it
        beating.set(false);
        for (var one = waiting.poll(); one != null; one = waiting.poll()) {
          end(one, OptionalInt.empty());
        }
      }
    }
  }

  private void askAll() {
    int questions = Math.min(QUESTIONS, size.get());
    for (int i = 0; i < questions; i++) {
      var one = waiting.poll();
      if (one == null) {
        break;
      }
      ask(one);
    }
    beating.set(false);
    beat();
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
                    end(one, OptionalInt.of(deadLettered));
                  } else if (clock.instant().isBefore(one.until())) {
                    waiting.add(one); // also when the spool cannot say: it may in a moment
                    beat();
                  } else {
                    end(one, OptionalInt.empty());
                  }
                });
  }

  private void end(Waiting one, OptionalInt deadLetters) {
    size.decrementAndGet();
    one.deadLetters().complete(deadLetters);
  }
}
