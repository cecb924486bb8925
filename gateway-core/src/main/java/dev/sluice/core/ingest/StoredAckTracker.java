package dev.sluice.core.ingest;

import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.DeliveryStatusReader;
import dev.sluice.core.port.DeliveryStatusReader.DeliveryStatus;
import dev.sluice.core.port.Scheduler;
import dev.sluice.core.port.Spool.Receipt;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableSet;
import java.util.OptionalInt;
import java.util.Queue;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A tracker of appended records whose clients wait until the records are stored. It polls the spool
 * periodically for the status of all pending requests, until the records are delivered or the
 * timeout of the request elapses. Then it looks up which of the records are dead letters, in one
 * lookup at a time for all requests that are delivered by then. Thread-safe.
 */
final class StoredAckTracker {
  private static final Duration POLL_INTERVAL = Duration.ofMillis(100);

  /** The maximum number of status queries per poll; the remaining requests wait for the next. */
  private static final int MAX_POLLS_PER_TICK = 1_000;

  /**
   * The maximum number of pending requests, because each causes status queries to the spool.
   * Further requests get their response immediately, with a lower level.
   */
  private static final int MAX_PENDING = 50_000;

  private final DeliveryStatusReader deliveryStatuses;
  private final DeadLetterLookup deadLetterLookup;
  private final Scheduler scheduler;
  private final Duration timeout;
  private final Queue<PendingAck> pending = new ConcurrentLinkedQueue<>();

  /** Requests whose records are delivered and not looked up yet. */
  private final Queue<PendingAck> delivered = new ConcurrentLinkedQueue<>();

  private final AtomicBoolean lookupRunning = new AtomicBoolean();
  private final AtomicInteger pendingCount = new AtomicInteger();
  private final AtomicBoolean pollScheduled = new AtomicBoolean();

  private record PendingAck(
      Receipt receipt, LogId firstId, int records, CompletableFuture<OptionalInt> deadLetters) {
    LogId lastId() {
      return firstId.plus(records - 1);
    }
  }

  StoredAckTracker(
      DeliveryStatusReader deliveryStatuses,
      DeadLetterLookup deadLetterLookup,
      Scheduler scheduler,
      Duration timeout) {
    this.deliveryStatuses = deliveryStatuses;
    this.deadLetterLookup = deadLetterLookup;
    this.scheduler = scheduler;
    this.timeout = timeout;
  }

  /**
   * Waits until the delivery of the records is acknowledged.
   *
   * @return completes with the number of records that became dead letters; empty when the timeout
   *     elapses first; never fails
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
      // the scheduler, not a comparison of clock times: the clock may be set back
      scheduler.schedule(timeout, () -> ack.deadLetters().complete(OptionalInt.empty()));
    } catch (RuntimeException _) { // the scheduler is shutting down: do not wait
      ack.deadLetters().complete(OptionalInt.empty());
    }
    return ack.deadLetters();
  }

  private void schedulePoll() {
    if (!pending.isEmpty() && pollScheduled.compareAndSet(false, true)) {
      try {
        scheduler.schedule(POLL_INTERVAL, this::pollAll);
      } catch (RuntimeException _) { // the scheduler is shutting down: do not wait
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
    } finally { // also after an error such as OutOfMemoryError: other requests still wait
      pollScheduled.set(false);
      schedulePoll();
    }
  }

  private void pollStatus(PendingAck ack) {
    CompletionStage<DeliveryStatus> status;
    try {
      status = deliveryStatuses.statusOf(ack.receipt());
    } catch (RuntimeException e) {
      status = CompletableFuture.completedStage(new DeliveryStatus.Unknown(e.toString()));
    }
    var _ =
        status
            .exceptionally(e -> new DeliveryStatus.Unknown(e.toString()))
            .thenAccept(
                known -> {
                  if (known instanceof DeliveryStatus.Delivered()) {
                    delivered.add(ack);
                    startLookup();
                  } else if (!ack.deadLetters().isDone()) {
                    pending.add(ack); // an unknown status is queried again too
                    schedulePoll();
                  }
                });
  }

  private void startLookup() {
    if (delivered.isEmpty() || !lookupRunning.compareAndSet(false, true)) {
      return;
    }
    var acks = new ArrayList<PendingAck>();
    for (var ack = delivered.poll(); ack != null; ack = delivered.poll()) {
      acks.add(ack);
    }
    CompletionStage<List<LogId>> lookup;
    try {
      var first = acks.stream().map(PendingAck::firstId).min(LogId::compareTo).orElseThrow();
      var last = acks.stream().map(PendingAck::lastId).max(LogId::compareTo).orElseThrow();
      lookup = deadLetterLookup.findBetween(first, last);
    } catch (Throwable e) { // such as OutOfMemoryError: other requests still wait
      lookup = CompletableFuture.failedStage(e);
    }
    var _ =
        lookup.whenComplete(
            (ids, failure) -> {
              lookupRunning.set(false);
              if (failure == null) {
                completeAll(acks, new TreeSet<>(ids));
              } else {
                pending.addAll(acks); // the number is unknown: query the status again
                schedulePoll();
              }
              startLookup();
            });
  }

  private static void completeAll(List<PendingAck> acks, NavigableSet<LogId> deadLetters) {
    for (var ack : acks) {
      int count = deadLetters.subSet(ack.firstId(), true, ack.lastId(), true).size();
      ack.deadLetters().complete(OptionalInt.of(count));
    }
  }
}
