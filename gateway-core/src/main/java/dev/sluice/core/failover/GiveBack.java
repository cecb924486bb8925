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
final class GiveBack {
  private static final System.Logger LOG = System.getLogger(GiveBack.class.getName());
  private static final Duration PATIENCE = Duration.ofMillis(250);
  private static final Duration AFTER_FAILURE = Duration.ofSeconds(1);
  private static final int MOST_UNDER_WAY = 4;

  /** What an attempt that was cut short leaves in doubt is given back one by one. */
  private static final DeliveryLimits AT_ONCE = new DeliveryLimits(1_000, 4 << 20, Duration.ZERO);

  /** Of the first's patience; an answer within it is a quick one. */
  private static final int QUICK = 10;

  /** One batch on its way; what came of it, and how long that took. */
  private record Gift(LogBatch batch, CompletableFuture<Landed> landed) {}

  private record Landed(AppendResult appended, long nanos) {}

  private final Failover.Side first;
  private final FallbackSpoolConsumer returns;
  private final StandIn standIn;
  private final Breaker breaker;
  private final Receipts receipts;
  private final KnownKeys known;
  private final long quickNanos;
  private final Thread thread = Thread.ofVirtual().name("give-back").unstarted(this::run);

  /** Of this delivery's keys those that were claimed: a later attempt finds its own claims. */
  private final Map<IdempotencyStore.IdempotencyKey, Claim> claims = new ConcurrentHashMap<>();

  private volatile boolean ended;
  private volatile boolean draining;

  /** Of its thread alone, as what follows. */
  private int window = 1;

  private long given;
  private boolean failed;

  GiveBack(
      Failover.Side first,
      FallbackSpoolConsumer returns,
      StandIn standIn,
      Breaker breaker,
      Receipts receipts,
      KnownKeys known,
      Duration patience) {
    this.first = first;
    this.returns = returns;
    this.standIn = standIn;
    this.breaker = breaker;
    this.receipts = receipts;
    this.known = known;
    this.quickNanos = patience.toNanos() / QUICK;
  }

  void start() {
    thread.start();
  }

  /** Gives back what it can within {@code patience}, and ends. */
  void drain(Duration patience) {
    draining = true;
    try {
      boolean _ = thread.getState() == Thread.State.NEW || thread.join(patience);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
    end();
  }

  /** Returns when its thread has ended. */
  void end() {
    ended = true;
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
      while (!ended) {
        boolean last = draining;
        boolean done = step(last);
        if (last && !done) {
          return;
        }
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt(); // what was not given back stays in the second
    } finally {
      told();
    }
  }

  /** Whether there was something, and it was given back or is to be tried again. */
  private boolean step(boolean last) throws InterruptedException {
    try {
      boolean done = turn(last ? Duration.ZERO : PATIENCE);
      failed = false;
      if (!done && !last) {
        boolean _ = breaker.awaitOpen(PATIENCE); // nothing to do until then, or until more comes
      }
      return done;
    } catch (RuntimeException | Error e) { // of the second's, most likely: it is tried again
      LOG.log(
          failed ? Level.DEBUG : Level.WARNING, "nothing can be given back to " + first.name(), e);
      failed = true;
      Thread.sleep(AFTER_FAILURE);
      return true;
    }
  }

  private boolean turn(Duration patience) throws InterruptedException {
    if (!breaker.awaitClosed(patience)) {
      told();
      return false;
    }
    if (!standIn.takeTurn(PATIENCE)) {
      return standIn.hasWorker(); // which has something; what nobody finishes is left alone
    }
    try {
      // not waiting: what comes when the first has just gone is for the worker
      var next = returns.pollForDrain(AT_ONCE);
      if (next.isEmpty()) {
        told();
        return false;
      }
      return give(next.get());
    } finally {
      standIn.endTurn();
    }
  }

  private void told() {
    if (given > 0) {
      LOG.log(Level.INFO, "{0} logs were given back to {1}", Long.toString(given), first.name());
      given = 0;
    }
  }

  private boolean give(Delivery delivery) throws InterruptedException {
    var manner = delivery.redelivered() ? AppendMode.POSSIBLE_DUPLICATE : AppendMode.SYNC;
    var underWay = new ArrayDeque<Gift>();
    boolean all = true;
    for (var batch : delivery.batches()) {
      while (all && underWay.size() >= window) {
        all = landed(underWay.remove());
      }
      if (!all) {
        break;
      }
      underWay.add(begin(batch, manner));
    }
    while (!underWay.isEmpty()) { // also after a refusal: nothing may be under way behind our back
      all &= landed(underWay.remove());
    }
    if (all) {
      returns.ackDrained(delivery);
      claims.clear();
      given += delivery.records();
    }
    return all;
  }

  private boolean landed(Gift gift) throws InterruptedException {
    Landed landed;
    try {
      landed = gift.landed().get();
    } catch (ExecutionException e) {
      throw new IllegalStateException("an append that failed instead of being answered", e);
    }
    if (!(landed.appended() instanceof AppendResult.Accepted(var receipt))) {
      return false;
    }
    receipts.moved(gift.batch().appendId(), receipt);
    if (landed.nanos() <= quickNanos) {
      window = Math.min(MOST_UNDER_WAY, window + 1);
    } else {
      window = Math.max(1, window / 2);
      Thread.sleep(Duration.ofNanos(landed.nanos()));
    }
    return true;
  }

  private Gift begin(LogBatch batch, AppendMode manner) {
    long start = System.nanoTime();
    var key = returns.idempotencyKeyOf(batch.appendId());
    var appended = key.isPresent() ? append(batch, key.get(), manner) : append(batch, manner);
    return new Gift(batch, appended.thenApply(a -> new Landed(a, System.nanoTime() - start)));
  }

  private CompletableFuture<AppendResult> append(LogBatch batch, AppendMode manner) {
    return breaker.append(() -> first.spool().append(batch, manner));
  }

  /**
   * The key belongs to the batch in the first too, by the claim that the first granted if there is
   * one: an append under it may still arrive, and lands once. Where that cannot be, such as when
   * another has it there, the logs are safe all the same.
   */
  private CompletableFuture<AppendResult> append(
      LogBatch batch, IdempotencyStore.IdempotencyKey key, AppendMode manner) {
    var granted = known.grantedByFirst(batch.appendId());
    return granted == null
        ? claimAndAppend(batch, key, manner)
        : appendOr(() -> claimAndAppend(batch, key, manner), batch, granted, manner);
  }

  private CompletableFuture<AppendResult> claimAndAppend(
      LogBatch batch, IdempotencyStore.IdempotencyKey key, AppendMode manner) {
    return breaker
        .claim(() -> first.keys().claim(key))
        .thenCompose(
            claimResult ->
                switch (claimResult) {
                  case ClaimResult.Unavailable(var retryAfter, var reason) ->
                      CompletableFuture.completedFuture(
                          new AppendResult.Unavailable(retryAfter, reason));
                  case ClaimResult.Granted(var claim) -> {
                    claims.put(key, claim);
                    yield appendOr(
                        () -> append(batch, AppendMode.POSSIBLE_DUPLICATE), batch, claim, manner);
                  }
                  // what was appended under the key before is known by that and nothing else
                  case ClaimResult.Completed(), ClaimResult.InProgress(), ClaimResult.KeyReused() ->
                      appendOr(
                          () -> append(batch, AppendMode.POSSIBLE_DUPLICATE),
                          batch,
                          claims.getOrDefault(key, new Claim(key, UUID.randomUUID())),
                          manner);
                });
  }

  /**
   * @param superseded what is done when the claim is its owner's no longer
   */
  private CompletableFuture<AppendResult> appendOr(
      Supplier<CompletableFuture<AppendResult>> superseded,
      LogBatch batch,
      Claim claim,
      AppendMode manner) {
    return breaker
        .append(() -> first.keys().append(batch, claim, manner))
        .thenCompose(
            appendResult ->
                appendResult instanceof AppendResult.ClaimLost
                    ? superseded.get()
                    : CompletableFuture.completedFuture(appendResult));
  }
}
