package dev.sluice.core.failover;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.FallbackSpoolConsumer;
import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.IdempotencyStore.Claim;
import dev.sluice.core.port.IdempotencyStore.ClaimResult;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.core.port.Spool.AppendResult;
import dev.sluice.core.port.SpoolConsumer.Delivery;
import dev.sluice.core.port.SpoolConsumer.DeliveryLimits;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.function.Supplier;

/**
 * Gives what the second spool has to the first while that is well, oldest first, on a virtual
 * thread of its own.
 *
 * <p>A delivery is given up by the second once the first has all of it. What the first does not
 * take ends the attempt; the delivery comes again, and the first knows by their append ids the
 * batches that it has.
 *
 * <p>New logs go first: few batches are under way at a time, fewer when the first is slow, and then
 * it is left alone for as long as it took.
 */
final class FallbackDrainer {
  private static final System.Logger LOG = System.getLogger(FallbackDrainer.class.getName());
  private static final Duration POLL_TIMEOUT = Duration.ofMillis(250);
  private static final Duration AFTER_FAILURE = Duration.ofSeconds(1);
  private static final int MAX_IN_FLIGHT = 4;

  /** What an attempt that was cut short leaves in doubt is given back one by one. */
  private static final DeliveryLimits DRAIN_BOUNDS =
      new DeliveryLimits(1_000, 4 << 20, Duration.ZERO);

  /** Of the first's patience; an answer within it is a quick one. */
  private static final int QUICK_DIVISOR = 10;

  /** One batch on its way; what came of it, and how long that took. */
  private record InFlightAppend(LogBatch batch, CompletableFuture<TimedResult> timedResult) {}

  private record TimedResult(AppendResult result, long nanos) {}

  private final FailoverSpool.SpoolTarget primary;
  private final FallbackSpoolConsumer consumer;
  private final FallbackConsumer fallbackConsumer;
  private final CircuitBreaker breaker;
  private final ReceiptTranslator receiptTranslator;
  private final IdempotencyKeyIndex keyIndex;
  private final long quickNanos;
  private final Thread thread = Thread.ofVirtual().name("fallback-drainer").unstarted(this::run);

  /** Of this delivery's keys those that were claimed: a later attempt finds its own claims. */
  private final Map<IdempotencyStore.IdempotencyKey, Claim> claims = new ConcurrentHashMap<>();

  private volatile boolean stopped;
  private volatile boolean draining;

  /** Of its thread alone, as what follows. */
  private int window = 1;

  private long drainedRecords;
  private boolean failed;

  FallbackDrainer(
      FailoverSpool.SpoolTarget primary,
      FallbackSpoolConsumer consumer,
      FallbackConsumer fallbackConsumer,
      CircuitBreaker breaker,
      ReceiptTranslator receiptTranslator,
      IdempotencyKeyIndex keyIndex,
      Duration primaryTimeout) {
    this.primary = primary;
    this.consumer = consumer;
    this.fallbackConsumer = fallbackConsumer;
    this.breaker = breaker;
    this.receiptTranslator = receiptTranslator;
    this.keyIndex = keyIndex;
    this.quickNanos = primaryTimeout.toNanos() / QUICK_DIVISOR;
  }

  void start() {
    thread.start();
  }

  /** Gives back what it can within {@code patience}, and ends. */
  void drain(Duration timeout) {
    draining = true;
    try {
      boolean _ = thread.getState() == Thread.State.NEW || thread.join(timeout);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
    stop();
  }

  /** Returns when its thread has ended. */
  void stop() {
    stopped = true;
    thread.interrupt();
    boolean interrupted = false;
    while (thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException _) {
        interrupted = true; // it ends soon: nothing it does waits longer than an interrupt
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void run() {
    try {
      while (!stopped) {
        boolean last = draining;
        boolean done = step(last);
        if (last && !done) {
          return;
        }
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt(); // what was not given back stays in the second
    } finally {
      logDrained();
    }
  }

  /** Whether there was something, and it was given back or is to be tried again. */
  private boolean step(boolean last) throws InterruptedException {
    try {
      boolean done = drainOnce(last ? Duration.ZERO : POLL_TIMEOUT);
      failed = false;
      if (!done && !last) {
        boolean _ =
            breaker.awaitOpen(POLL_TIMEOUT); // nothing to do until then, or until more comes
      }
      return done;
    } catch (RuntimeException | Error e) { // of the second's, most likely: it is tried again
      LOG.log(
          failed ? Level.DEBUG : Level.WARNING,
          "nothing can be given back to " + primary.name(),
          e);
      failed = true;
      Thread.sleep(AFTER_FAILURE);
      return true;
    }
  }

  private boolean drainOnce(Duration timeout) throws InterruptedException {
    if (!breaker.awaitClosed(timeout)) {
      logDrained();
      return false;
    }
    if (!fallbackConsumer.tryLockForDrain(POLL_TIMEOUT)) {
      return fallbackConsumer
          .hasWorker(); // which has something; what nobody finishes is left alone
    }
    try {
      // not waiting: what comes when the first has just gone is for the worker
      var next = consumer.pollForDrain(DRAIN_BOUNDS);
      if (next.isEmpty()) {
        logDrained();
        return false;
      }
      return drainDelivery(next.get());
    } finally {
      fallbackConsumer.unlockAfterDrain();
    }
  }

  private void logDrained() {
    if (drainedRecords > 0) {
      LOG.log(
          Level.INFO,
          "{0} logs were given back to {1}",
          Long.toString(drainedRecords),
          primary.name());
      drainedRecords = 0;
    }
  }

  private boolean drainDelivery(Delivery delivery) throws InterruptedException {
    var mode = delivery.redelivered() ? AppendMode.POSSIBLE_DUPLICATE : AppendMode.SYNC;
    var inFlight = new ArrayDeque<InFlightAppend>();
    boolean all = true;
    for (var batch : delivery.batches()) {
      while (all && inFlight.size() >= window) {
        all = awaitAppend(inFlight.remove());
      }
      if (!all) {
        break;
      }
      inFlight.add(startAppend(batch, mode));
    }
    while (!inFlight.isEmpty()) { // also after a refusal: nothing may be under way behind our back
      all &= awaitAppend(inFlight.remove());
    }
    if (all) {
      consumer.ackDrained(delivery);
      claims.clear();
      drainedRecords += delivery.records();
    }
    return all;
  }

  private boolean awaitAppend(InFlightAppend append) throws InterruptedException {
    TimedResult timed;
    try {
      timed = append.timedResult().get();
    } catch (ExecutionException e) {
      throw new IllegalStateException("an append that failed instead of being answered", e);
    }
    if (!(timed.result() instanceof AppendResult.Accepted(var receipt))) {
      return false;
    }
    receiptTranslator.recordMoved(append.batch().appendId(), receipt);
    if (timed.nanos() <= quickNanos) {
      window = Math.min(MAX_IN_FLIGHT, window + 1);
    } else {
      window = Math.max(1, window / 2);
      Thread.sleep(Duration.ofNanos(timed.nanos()));
    }
    return true;
  }

  private InFlightAppend startAppend(LogBatch batch, AppendMode mode) {
    long start = System.nanoTime();
    var key = consumer.idempotencyKeyOf(batch.appendId());
    var appended = key.isPresent() ? append(batch, key.get(), mode) : append(batch, mode);
    return new InFlightAppend(
        batch, appended.thenApply(a -> new TimedResult(a, System.nanoTime() - start)));
  }

  private CompletableFuture<AppendResult> append(LogBatch batch, AppendMode mode) {
    return breaker.append(() -> primary.spool().append(batch, mode));
  }

  /**
   * The key belongs to the batch in the first too, by the claim that the first granted if there is
   * one: an append under it may still arrive, and lands once. Where that cannot be, such as when
   * another has it there, the logs are safe all the same.
   */
  private CompletableFuture<AppendResult> append(
      LogBatch batch, IdempotencyStore.IdempotencyKey key, AppendMode mode) {
    var granted = keyIndex.primaryClaimOf(batch.appendId());
    return granted == null
        ? claimAndAppend(batch, key, mode)
        : appendOrElse(() -> claimAndAppend(batch, key, mode), batch, granted, mode);
  }

  private CompletableFuture<AppendResult> claimAndAppend(
      LogBatch batch, IdempotencyStore.IdempotencyKey key, AppendMode mode) {
    return breaker
        .claim(() -> primary.keys().claim(key))
        .thenCompose(
            claimResult ->
                switch (claimResult) {
                  case ClaimResult.Unavailable(var retryAfter, var reason) ->
                      CompletableFuture.completedFuture(
                          new AppendResult.Unavailable(retryAfter, reason));
                  case ClaimResult.Granted(var claim) -> {
                    claims.put(key, claim);
                    yield appendOrElse(
                        () -> append(batch, AppendMode.POSSIBLE_DUPLICATE), batch, claim, mode);
                  }
                  // what was appended under the key before is known by that and nothing else
                  case ClaimResult.Completed(), ClaimResult.InProgress(), ClaimResult.KeyReused() ->
                      appendOrElse(
                          () -> append(batch, AppendMode.POSSIBLE_DUPLICATE),
                          batch,
                          claims.getOrDefault(key, new Claim(key, UUID.randomUUID())),
                          mode);
                });
  }

  /**
   * @param superseded what is done when the claim is its owner's no longer
   */
  private CompletableFuture<AppendResult> appendOrElse(
      Supplier<CompletableFuture<AppendResult>> superseded,
      LogBatch batch,
      Claim claim,
      AppendMode mode) {
    return breaker
        .append(() -> primary.keys().append(batch, claim, mode))
        .thenCompose(
            appendResult ->
                appendResult instanceof AppendResult.ClaimLost
                    ? superseded.get()
                    : CompletableFuture.completedFuture(appendResult));
  }
}
