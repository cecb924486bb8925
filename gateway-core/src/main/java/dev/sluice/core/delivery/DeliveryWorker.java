package dev.sluice.core.delivery;

import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.RecordIds;
import dev.sluice.core.port.DeadLetterStore;
import dev.sluice.core.port.DeliveryMetrics;
import dev.sluice.core.port.DeliveryMetrics.PauseReason;
import dev.sluice.core.port.LogEnricher;
import dev.sluice.core.port.LogStore;
import dev.sluice.core.port.LogStore.DeliverySlice;
import dev.sluice.core.port.LogStore.StoreResult;
import dev.sluice.core.port.SpoolConsumer;
import dev.sluice.core.port.SpoolConsumer.Delivery;
import dev.sluice.core.port.WriteResult;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A worker that moves deliveries from one shard of the spool to the store, one at a time, on its
 * own virtual thread.
 *
 * <p>The recovery is the same for every failure, such as a busy store, a lost connection or a
 * restart: the delivery stays unacknowledged, the worker pauses, and {@link SpoolConsumer#poll}
 * returns the delivery again. {@link PoisonRecordBisector} finds the records that the store
 * rejects; they become dead letters, which are written before the acknowledgement, and the other
 * records are stored.
 */
public final class DeliveryWorker implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(DeliveryWorker.class.getName());
  private static final Duration POLL_TIMEOUT = Duration.ofMillis(250);
  private static final StoreResult.Retryable LEASE_LOST =
      new StoreResult.Retryable("another worker has taken over the delivery");

  /**
   * The settings of a worker.
   *
   * @param backoff the pauses after failures
   * @param sleeper the sleep function for the minimum interval between inserts
   * @param clock the clock, for the age of records and the start of the latest insert
   * @param maxDeadLetters the maximum number of rejected records per delivery; more are treated as
   *     a schema mismatch
   * @param workers the number of workers that share the store and its minimum interval
   */
  public record WorkerSettings(
      Backoff backoff,
      Backoff.Sleeper sleeper,
      InstantSource clock,
      int maxDeadLetters,
      int workers) {
    public WorkerSettings {
      if (maxDeadLetters < 1) {
        throw new IllegalArgumentException(
            "max-dead-letters-per-batch is " + maxDeadLetters + ", must be positive");
      }
      if (workers < 1) {
        throw new IllegalArgumentException("workers is " + workers + ", must be positive");
      }
    }
  }

  /**
   * The reason that the worker is paused.
   *
   * @param detail the details for the operator, without any content of the logs
   */
  public record PauseState(PauseReason pauseReason, String detail) {}

  private final SpoolConsumer consumer;
  private final LogStore store;
  private final DeadLetterStore deadLetterStore;
  private final LogEnricher enricher;
  private final DeliveryMetrics metrics;
  private final Backoff backoff;
  private final Backoff.Sleeper sleeper;
  private final InstantSource clock;
  private final int maxDeadLetters;
  private final int workers;
  private final Thread thread;
  private volatile boolean draining;
  private volatile boolean stopped;
  private volatile boolean drained;
  private volatile @Nullable PauseState pauseState;
  private Duration minInsertInterval = Duration.ZERO;
  private Instant lastInsertStart = Instant.EPOCH;

  private final RecordIds recordIds = new RecordIds();

  /** The token of the delivery that {@link #recordIds} belong to; null for no delivery. */
  private @Nullable String enrichedToken;

  /** The bisector of the most recent delivery; null unless the store rejected that delivery. */
  private @Nullable PoisonRecordBisector bisector;

  private DeliveryWorker(
      String name,
      SpoolConsumer consumer,
      LogStore store,
      DeadLetterStore deadLetterStore,
      LogEnricher enricher,
      DeliveryMetrics metrics,
      WorkerSettings settings) {
    this.consumer = consumer;
    this.store = store;
    this.deadLetterStore = deadLetterStore;
    this.enricher = enricher;
    this.metrics = metrics;
    this.backoff = settings.backoff();
    this.sleeper = settings.sleeper();
    this.clock = settings.clock();
    this.maxDeadLetters = settings.maxDeadLetters();
    this.workers = settings.workers();
    this.thread = Thread.ofVirtual().name("delivery-" + name).unstarted(this::run);
  }

  /**
   * Creates a worker and starts its thread, so that no unstarted worker exists.
   *
   * @param enricher the enricher, which only this worker uses
   */
  public static DeliveryWorker start(
      String name,
      SpoolConsumer consumer,
      LogStore store,
      DeadLetterStore deadLetterStore,
      LogEnricher enricher,
      DeliveryMetrics metrics,
      WorkerSettings settings) {
    var worker =
        new DeliveryWorker(name, consumer, store, deadLetterStore, enricher, metrics, settings);
    worker.thread.start();
    return worker;
  }

  /** Whether the loop of the worker is running; readiness depends on it. */
  public boolean isAlive() {
    return thread.isAlive();
  }

  /** Returns the reason that the worker is paused; empty while it stores or has no delivery. */
  public Optional<PauseState> pauseState() {
    return Optional.ofNullable(pauseState);
  }

  private void run() {
    try {
      while (!stopped) {
        boolean last = draining;
        boolean delivered = step(last);
        if (last && !delivered) {
          drained = true;
          return;
        }
      }
    } catch (InterruptedException _) {
      // the shutdown timed out; unacknowledged deliveries stay in the spool
      Thread.currentThread().interrupt();
    }
  }

  private boolean step(boolean last) throws InterruptedException {
    try {
      minInsertInterval = last ? Duration.ZERO : store.minInsertInterval();
      var linger = last ? Duration.ZERO : store.preferredLinger();
      var next =
          consumer.poll(
              last ? Duration.ZERO : POLL_TIMEOUT,
              linger.compareTo(minInsertInterval) < 0 ? minInsertInterval : linger);
      if (next.isEmpty()) {
        clearPause();
        return false;
      }
      deliver(next.get());
    } catch (RuntimeException e) {
      pause(PauseReason.SPOOL, e.toString());
    } catch (Error e) {
      // most likely an OutOfMemoryError that other code caused; ending would stop the shard
      LOG.log(Level.ERROR, "delivery failed with an error, retrying", e);
      pause(PauseReason.STORE, e.toString());
    }
    return true;
  }

  private void deliver(Delivery delivery) throws InterruptedException {
    var start = clock.instant();
    if (bisector != null && !bisector.matches(delivery)) {
      bisector = null; // another worker has acknowledged it, or it has other batches now
    }
    switch (enrichAndStore(delivery)) {
      case StoreResult.Stored() ->
          ack(delivery, bisector == null ? List.of() : bisector.deadLetters(), start);
      case StoreResult.Retryable(var reason) -> pause(PauseReason.STORE, reason);
      case StoreResult.SchemaMismatch(var reason) -> pause(PauseReason.SCHEMA, reason);
      case StoreResult.Corrupt(var appendId, var reason) -> {
        LOG.log(Level.ERROR, "corrupt batch skipped, it stays in the spool: {0}", reason);
        bisector = null;
        enrichedToken = null;
        consumer.skip(appendId, reason);
      }
      // enrichAndStore() handles it
      case StoreResult.Rejected(var reason, _) -> throw new IllegalStateException(reason);
    }
  }

  /** Stores a delivery with its dictionary ids, which are resolved once for all attempts. */
  private StoreResult enrichAndStore(Delivery delivery) throws InterruptedException {
    if (!delivery.token().equals(enrichedToken)) {
      switch (enrich(delivery)) {
        case WriteResult.Written() -> {
          if (!consumer.renewLease(delivery)) { // the dictionary may have responded slowly
            return LEASE_LOST;
          }
          enrichedToken = delivery.token();
        }
        case WriteResult.Retryable(var reason) -> {
          return new StoreResult.Retryable("dictionary not written: " + reason);
        }
        case WriteResult.SchemaMismatch(var reason) -> {
          return new StoreResult.SchemaMismatch("dictionary not written: " + reason);
        }
      }
    }
    return bisector == null ? storeWhole(delivery) : storeBisected(bisector, delivery);
  }

  private WriteResult enrich(Delivery delivery) throws InterruptedException {
    enrichedToken = null;
    try {
      return enricher.enrich(delivery.batches(), recordIds);
    } catch (RuntimeException e) {
      return new WriteResult.Retryable(e.toString());
    }
  }

  /** Stores a delivery in one insert or, when the store rejects it, in slices. */
  private StoreResult storeWhole(Delivery delivery) throws InterruptedException {
    // slices are not throttled: one rejected record would delay the shard for minutes
    if (!throttle(delivery)) {
      return LEASE_LOST;
    }
    var storeResult = store(DeliverySlice.of(delivery));
    if (storeResult instanceof StoreResult.Rejected poisoned) {
      LOG.log(
          Level.WARNING,
          "delivery of {0} logs rejected by ClickHouse, storing the valid logs by bisection: {1}",
          delivery.records(),
          poisoned.reason());
      bisector = new PoisonRecordBisector(delivery, poisoned, maxDeadLetters, clock);
      return storeBisected(bisector, delivery);
    }
    return storeResult;
  }

  /** Stores a rejected delivery in slices; renews the lease before each, since this takes long. */
  private StoreResult storeBisected(PoisonRecordBisector rejected, Delivery delivery)
      throws InterruptedException {
    bisector = null; // after an error in the middle of a step the bisection starts over
    var storeResult =
        rejected.run(slice -> consumer.renewLease(delivery) ? store(slice) : LEASE_LOST);
    bisector = rejected;
    return storeResult;
  }

  private StoreResult store(DeliverySlice slice) throws InterruptedException {
    try {
      return store.store(slice, recordIds);
    } catch (RuntimeException e) {
      return new StoreResult.Retryable(e.toString());
    }
  }

  /**
   * Waits for the minimum interval between inserts, in short sleeps so that a shutdown need not
   * wait. An interval that shrinks meanwhile, because the store has merged, shortens the wait. A
   * clock that is set back does not prolong it.
   *
   * @return false when another worker has taken over the delivery
   */
  private boolean throttle(Delivery delivery) throws InterruptedException {
    var interval = minInsertInterval.multipliedBy(workers);
    var remaining = interval.minus(Duration.between(lastInsertStart, clock.instant()));
    if (remaining.compareTo(interval) > 0) {
      remaining = interval;
    }
    while (remaining.isPositive() && !draining) {
      var nap = remaining.compareTo(POLL_TIMEOUT) < 0 ? remaining : POLL_TIMEOUT;
      sleeper.sleep(nap);
      remaining = remaining.minus(nap);
      if (!consumer.renewLease(delivery)) {
        return false;
      }
      var current = store.minInsertInterval().multipliedBy(workers);
      if (current.compareTo(interval) < 0) {
        remaining = remaining.minus(interval.minus(current));
        interval = current;
      }
    }
    lastInsertStart = clock.instant();
    return true;
  }

  private void ack(Delivery delivery, List<DeadLetter> deadLetters, Instant start)
      throws InterruptedException {
    var end = clock.instant();
    switch (writeDeadLetters(delivery, deadLetters)) {
      case WriteResult.Written() -> {}
      case WriteResult.Retryable(var reason) -> {
        pause(PauseReason.STORE, "dead letters not written: " + reason);
        return;
      }
      case WriteResult.SchemaMismatch(var reason) -> {
        pause(PauseReason.SCHEMA, "dead letters not written: " + reason);
        return;
      }
    }
    consumer.ack(delivery);
    bisector = null;
    backoff.reset();
    clearPause();
    if (!deadLetters.isEmpty()) {
      metrics.recordDeadLettered(deadLetters.size());
      LOG.log(
          Level.ERROR,
          "{0} logs written to the dead letters, reason of the first: {1}",
          deadLetters.size(),
          deadLetters.getFirst().reason());
    }
    metrics.recordStored(
        delivery.records() - deadLetters.size(),
        delivery.batches().size(),
        Duration.between(start, end),
        Duration.ofNanos(
            end.getEpochSecond() * 1_000_000_000L + end.getNano() - oldestReceivedNanos(delivery)));
  }

  /**
   * Writes the dead letters while this worker owns the delivery: the records of a delivery that
   * another worker has taken over may be stored by now.
   */
  private WriteResult writeDeadLetters(Delivery delivery, List<DeadLetter> deadLetters)
      throws InterruptedException {
    if (deadLetters.isEmpty() && !delivery.redelivered()) {
      return new WriteResult.Written();
    }
    if (!consumer.renewLease(delivery)) {
      return new WriteResult.Retryable(LEASE_LOST.reason());
    }
    try {
      return deadLetterStore.write(delivery, deadLetters);
    } catch (RuntimeException e) {
      return new WriteResult.Retryable(e.toString());
    }
  }

  private void clearPause() {
    if (pauseState != null) {
      pauseState = null;
      LOG.log(Level.INFO, "delivery resumed");
    }
  }

  /** Pauses after a failure. A repeated failure with the same reason is logged at DEBUG only. */
  private void pause(PauseReason pauseReason, String reason) throws InterruptedException {
    metrics.recordRetryScheduled(pauseReason);
    var previous = pauseState;
    pauseState = new PauseState(pauseReason, reason);
    if (previous != null && previous.pauseReason() == pauseReason) {
      LOG.log(Level.DEBUG, "delivery still paused, retrying: {0}", reason);
    } else {
      switch (pauseReason) {
        case STORE ->
            LOG.log(
                Level.WARNING,
                "delivery paused: insert not completed; retrying, records stay in the spool: {0}",
                reason);
        case SPOOL ->
            LOG.log(Level.WARNING, "delivery paused: spool unavailable; retrying: {0}", reason);
        case SCHEMA ->
            LOG.log(
                Level.ERROR,
                "delivery paused: ClickHouse schema mismatch; records stay in the spool: {0}",
                reason);
      }
    }
    backoff.pause();
  }

  private static long oldestReceivedNanos(Delivery delivery) {
    return delivery.batches().stream().mapToLong(LogBatch::receivedNanos).min().orElseThrow();
  }

  /** Makes the worker deliver the remaining entries and then end. Returns immediately. */
  public void drain() {
    draining = true;
    consumer.flush();
  }

  /**
   * Drains for at most {@code timeout}, then interrupts the worker. Waits until the worker has
   * ended in both cases.
   *
   * @return whether all remaining entries are stored
   */
  public boolean shutdown(Duration timeout) {
    drain();
    try {
      if (!thread.join(timeout)) {
        stop();
        thread.join();
      }
    } catch (InterruptedException _) {
      stop();
      Thread.currentThread().interrupt();
    }
    return drained;
  }

  /**
   * Interrupts the worker. It also sets a flag, since a store may swallow the interrupt and return
   * an ordinary failure.
   */
  private void stop() {
    stopped = true;
    thread.interrupt();
  }

  @Override
  public void close() {
    shutdown(Duration.ZERO);
    consumer.close();
  }
}
