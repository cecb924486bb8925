package dev.sluice.core.ingest;

import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.Scheduler;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.DeliveryStatus;
import dev.sluice.core.port.Spool.Receipt;
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
final class StoredAckTracker {
  private static final Duration POLL_INTERVAL = Duration.ofMillis(100);

  /** Asked at one beat; those behind have their turn at the next. */
  private static final int MAX_POLLS_PER_TICK = 1_000;

  /** Beyond it nobody waits: a question each would be more than the spool should bear. */
  private static final int MAX_PENDING = 50_000;

  private final Spool spool;
  private final Scheduler scheduler;
  private final Duration timeout;
  private final Queue<PendingAck> pending = new ConcurrentLinkedQueue<>();
  private final AtomicInteger pendingCount = new AtomicInteger();
  private final AtomicBoolean pollScheduled = new AtomicBoolean();

  private record PendingAck(
      Receipt receipt, LogId firstId, int records, CompletableFuture<OptionalInt> deadLetters) {}

  StoredAckTracker(Spool spool, Scheduler scheduler, Duration timeout) {
    this.spool = spool;
    this.scheduler = scheduler;
    this.timeout = timeout;
  }

  /**
   * How many of the records became dead letters, once all are settled; empty when that is not known
   * in time. Never fails.
   */
  CompletableFuture<OptionalInt> await(Receipt receipt, LogId firstId, int records) {
    if (pendingCount.incrementAndGet() > MAX_PENDING) {
      pendingCount.decrementAndGet();
      return CompletableFuture.completedFuture(OptionalInt.empty());
    }
    var ack = new PendingAck(receipt, firstId, records, new CompletableFuture<>());
    var _ = ack.deadLetters().whenComplete((_, _) -> pendingCount.decrementAndGet());
    pending.add(ack);
    schedulePoll();
    try {
      // by the timer and not by the clock, which may be set back
      scheduler.schedule(timeout, () -> ack.deadLetters().complete(OptionalInt.empty()));
    } catch (RuntimeException _) { // a timer that is shutting down: nobody may wait for it
      ack.deadLetters().complete(OptionalInt.empty());
    }
    return ack.deadLetters();
  }

  private void schedulePoll() {
    if (!pending.isEmpty() && pollScheduled.compareAndSet(false, true)) {
      try {
        scheduler.schedule(POLL_INTERVAL, this::pollAll);
      } catch (RuntimeException _) { // a timer that is shutting down: nobody may wait for it
        pollScheduled.set(false);
        for (var ack = pending.poll(); ack != null; ack = pending.poll()) {
          ack.deadLetters().complete(OptionalInt.empty());
        }
      }
    }
  }

  private void pollAll() {
    try {
      int polls = Math.min(MAX_POLLS_PER_TICK, pendingCount.get());
      for (var ack = pending.poll(); ack != null; ack = pending.poll()) {
        if (!ack.deadLetters().isDone()) {
          pollStatus(ack);
          if (--polls <= 0) {
            break;
          }
        }
      }
    } finally { // also when memory runs out: the others wait
      pollScheduled.set(false);
      schedulePoll();
    }
  }

  private void pollStatus(PendingAck ack) {
    CompletionStage<DeliveryStatus> status;
    try {
      status = spool.statusOf(ack.receipt(), ack.firstId(), ack.records());
    } catch (RuntimeException e) {
      status = CompletableFuture.completedStage(new DeliveryStatus.Unknown(e.toString()));
    }
    var _ =
        status
            .exceptionally(e -> new DeliveryStatus.Unknown(e.toString()))
            .thenAccept(
                known -> {
                  if (known instanceof DeliveryStatus.Delivered(var deadLettered)) {
                    ack.deadLetters().complete(OptionalInt.of(deadLettered));
                  } else if (!ack.deadLetters().isDone()) {
                    pending.add(ack); // also when the spool cannot say: it may in a moment
                    schedulePoll();
                  }
                });
  }
}
