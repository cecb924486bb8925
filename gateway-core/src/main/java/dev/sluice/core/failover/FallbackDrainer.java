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
 * Drains the fallback spool to the primary while the circuit breaker is closed, oldest batches
 * first, on its own virtual thread.
 *
 * <p>A delivery is acked in the fallback once the primary has accepted all of its batches. A batch
 * that the primary does not accept ends the attempt; the delivery is then redelivered, and the
 * primary recognises the batches that it already has by their append ids.
 *
 * <p>New logs have priority: only a few batches are in flight, fewer when the primary is slow, and
 * after a slow append the drainer pauses for as long as the append took.
 */
final class FallbackDrainer {
  private static final System.Logger LOG = System.getLogger(FallbackDrainer.class.getName());
  private static final Duration POLL_TIMEOUT = Duration.ofMillis(250);
  private static final Duration AFTER_FAILURE = Duration.ofSeconds(1);
  private static final int MAX_IN_FLIGHT = 4;

  /**
   * The limits of a delivery: small, because after an aborted attempt batches are drained singly.
   */
  private static final DeliveryLimits DRAIN_LIMITS =
      new DeliveryLimits(1_000, 4 << 20, Duration.ZERO);

  /** The fraction of the primary's timeout within which an append counts as fast. */
  private static final int QUICK_DIVISOR = 10;

  /** A batch in flight to the primary, with the future of its result. */
  private record InFlightAppend(LogBatch batch, CompletableFuture<TimedResult> timedResult) {}

  /** The result of an append and its duration. */
  private record TimedResult(AppendResult result, long nanos) {}

  private final FailoverSpool.SpoolTarget primary;
  private final FallbackSpoolConsumer consumer;
  private final FallbackConsumer fallbackConsumer;
  private final CircuitBreaker breaker;
  private final ReceiptTranslator receiptTranslator;
  private final IdempotencyKeyIndex keyIndex;
  private final long quickNanos;
  private final Thread thread = Thread.ofVirtual().name("fallback-drainer").unstarted(this::run);

  /** The claims of the current delivery's keys, so that a later attempt reuses them. */
  private final Map<IdempotencyStore.IdempotencyKey, Claim> claims = new ConcurrentHashMap<>();

  private volatile boolean stopped;
  private volatile boolean draining;

  // confined to the drainer's thread
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

  /** Drains the fallback for at most {@code timeout}, then stops the thread. */
  void drain(Duration timeout) {
    draining = true;
    try {
      boolean _ = thread.getState() == Thread.State.NEW || thread.join(timeout);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
    stop();
  }

  /** Stops the thread and waits for its end. */
  void stop() {
    stopped = true;
    thread.interrupt();
    boolean interrupted = false;
    while (thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException _) {
        interrupted = true; // the thread ends soon, because the interrupt ends all of its waits
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
      Thread.currentThread().interrupt(); // the rest stays in the fallback
    } finally {
      logDrained();
    }
  }

  /** Runs one step; returns whether there was a delivery that was drained or must be retried. */
  private boolean step(boolean last) throws InterruptedException {
    try {
      boolean done = drainOnce(last ? Duration.ZERO : POLL_TIMEOUT);
      failed = false;
      if (!done && !last) {
        boolean _ = breaker.awaitOpen(POLL_TIMEOUT); // a pause; the fallback fills when it opens
      }
      return done;
    } catch (RuntimeException | Error e) { // most likely of the fallback
      LOG.log(
          failed ? Level.DEBUG : Level.WARNING,
          "cannot drain the fallback spool to "
              + primary.name()
              + "; records stay in the fallback, retrying in "
              + AFTER_FAILURE.toMillis()
              + " ms",
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
      // an active worker has a delivery; a delivery without a worker waits for its insert to end
      return fallbackConsumer.hasWorker();
    }
    try {
      // without a wait: if the breaker opens meanwhile, new deliveries are for the worker
      var next = consumer.pollForDrain(DRAIN_LIMITS);
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
          "fallback spool drained: {0} records moved to {1}",
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
    while (!inFlight.isEmpty()) { // also after a failure, so that no append stays in flight
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
      throw new IllegalStateException("an append to the primary spool failed without a result", e);
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
   * Appends the batch to the primary under its idempotency key, with the claim that the primary
   * granted originally if there is one: an append under that claim may still arrive in the primary
   * and is then stored only once. If that claim is lost, the batch is appended under a new claim,
   * and if the key belongs to another request, without the key.
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
                  // an earlier append of this batch under the key is recognised by its claim only
                  case ClaimResult.Completed(),
                      ClaimResult.InProgress(),
                      ClaimResult.IdempotencyKeyReused() ->
                      appendOrElse(
                          () -> append(batch, AppendMode.POSSIBLE_DUPLICATE),
                          batch,
                          claims.getOrDefault(key, new Claim(key, UUID.randomUUID())),
                          mode);
                });
  }

  /**
   * Appends the batch under a claim.
   *
   * @param claimLost the action if the claim is lost
   */
  private CompletableFuture<AppendResult> appendOrElse(
      Supplier<CompletableFuture<AppendResult>> claimLost,
      LogBatch batch,
      Claim claim,
      AppendMode mode) {
    return breaker
        .append(() -> primary.keys().append(batch, claim, mode))
        .thenCompose(
            appendResult ->
                appendResult instanceof AppendResult.ClaimLost
                    ? claimLost.get()
                    : CompletableFuture.completedFuture(appendResult));
  }
}
