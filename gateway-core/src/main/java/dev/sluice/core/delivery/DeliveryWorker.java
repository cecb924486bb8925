package dev.sluice.core.delivery;

import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.DeliveryMetrics;
import dev.sluice.core.port.DeliveryMetrics.PauseReason;
import dev.sluice.core.port.LogEnricher;
import dev.sluice.core.port.LogStore;
import dev.sluice.core.port.LogStore.DeliverySlice;
import dev.sluice.core.port.LogStore.StoreResult;
import dev.sluice.core.port.SpoolConsumer;
import dev.sluice.core.port.SpoolConsumer.Delivery;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Moves deliveries from one shard of the spool to the store, one at a time, on a virtual thread of
 * its own.
 *
 * <p>There is one way to recover. Whatever goes wrong, the delivery stays unsettled, the worker
 * pauses, and {@link SpoolConsumer#poll} hands it out again: after a busy store, a lost connection
 * or a restart alike. Records that the store refuses are found by {@link PoisonRecordBisector} and
 * become dead letters; the others are stored.
 */
public final class DeliveryWorker implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(DeliveryWorker.class.getName());
  private static final Duration POLL_TIMEOUT = Duration.ofMillis(250);
  private static final StoreResult LEASE_LOST =
      new StoreResult.Retryable("another has taken the delivery over");

  /**
   * How a worker takes its time.
   *
   * @param backoff its pauses after failures
   * @param sleeper how it keeps to the store's pace
   * @param clock tells the age of what it stores, and when the last store began
   * @param maxDeadLetters refused records in one delivery beyond which it is the table that is
   *     wrong
   * @param workers that share the store, and its pace
   */
  public record WorkerSettings(
      Backoff backoff,
      Backoff.Sleeper sleeper,
      InstantSource clock,
      int maxDeadLetters,
      int workers) {
    public WorkerSettings {
      if (maxDeadLetters < 1) {
        throw new IllegalArgumentException("at most " + maxDeadLetters + " refused records");
      }
      if (workers < 1) {
        throw new IllegalArgumentException(workers + " workers");
      }
    }
  }

  /**
   * Why nothing is stored at the moment.
   *
   * @param detail for the operator, without any log's content
   */
  public record PauseState(PauseReason pauseReason, String detail) {}

  private final SpoolConsumer consumer;
  private final LogStore store;
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

  /** Of the delivery handed out last, if it was refused. */
  private @Nullable PoisonRecordBisector bisector;

  private DeliveryWorker(
      String name,
      SpoolConsumer consumer,
      LogStore store,
      LogEnricher enricher,
      DeliveryMetrics metrics,
      WorkerSettings settings) {
    this.consumer = consumer;
    this.store = store;
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
   * A worker exists only while running: there is no half-built state to close by mistake.
   *
   * @param enricher of this worker alone
   */
  public static DeliveryWorker start(
      String name,
      SpoolConsumer consumer,
      LogStore store,
      LogEnricher enricher,
      DeliveryMetrics metrics,
      WorkerSettings settings) {
    var worker = new DeliveryWorker(name, consumer, store, enricher, metrics, settings);
    worker.thread.start();
    return worker;
  }

  /** False once the loop has ended; readiness follows it. */
  public boolean isAlive() {
    return thread.isAlive();
  }

  /** What keeps it from storing; empty while it stores, or has nothing to. */
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
      Thread.currentThread().interrupt(); // out of time; what is unsettled stays in the spool
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
      // out of memory, most likely, and of somebody else's making: to end would stop the shard
      LOG.log(Level.ERROR, "delivery failed, it is tried again", e);
      pause(PauseReason.STORE, e.toString());
    }
    return true;
  }

  private void deliver(Delivery delivery) throws InterruptedException {
    var start = clock.instant();
    if (bisector != null && !bisector.matches(delivery)) {
      bisector = null; // another has settled it, or it is made of other batches now
    }
    switch (bisector == null ? storeWhole(delivery) : storeBisected(bisector, delivery)) {
      case StoreResult.Stored() ->
          ack(delivery, bisector == null ? List.of() : bisector.deadLetters(), start);
      case StoreResult.Retryable(var reason) -> pause(PauseReason.STORE, reason);
      case StoreResult.SchemaMismatch(var reason) -> pause(PauseReason.SCHEMA, reason);
      case StoreResult.Corrupt(var appendId, var reason) -> {
        LOG.log(Level.ERROR, "a batch is set aside, it cannot be delivered: {0}", reason);
        bisector = null;
        consumer.skip(appendId, reason);
      }
      case StoreResult.Rejected(var reason) -> throw new IllegalStateException(reason); // see whole
    }
  }

  /** At once, or if that is refused in pieces. */
  private StoreResult storeWhole(Delivery delivery) throws InterruptedException {
    // not with each piece: a refused record would hold the shard for minutes
    if (!throttle(delivery)) {
      return LEASE_LOST;
    }
    var storeResult = store(DeliverySlice.of(delivery));
    if (storeResult instanceof StoreResult.Rejected(var reason)) {
      LOG.log(
          Level.WARNING,
          "{0} logs are refused, those that are not at fault are stored without the others: {1}",
          delivery.records(),
          reason);
      bisector = new PoisonRecordBisector(delivery, reason, maxDeadLetters, clock);
      return storeBisected(bisector, delivery);
    }
    return storeResult;
  }

  /** Which may take long: others must see that somebody is at it. */
  private StoreResult storeBisected(PoisonRecordBisector rejected, Delivery delivery)
      throws InterruptedException {
    bisector = null; // what ends in the middle of a step, such as for want of memory, starts over
    var storeResult =
        rejected.run(slice -> consumer.renewLease(delivery) ? store(slice) : LEASE_LOST);
    bisector = rejected;
    return storeResult;
  }

  private StoreResult store(DeliverySlice slice) throws InterruptedException {
    try {
      return store.store(slice, enricher);
    } catch (RuntimeException e) {
      return new StoreResult.Retryable(e.toString());
    }
  }

  /**
   * In short sleeps, so that an orderly end need not wait; a clock set back costs no more.
   *
   * @return false when another has taken the delivery over meanwhile
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
    }
    lastInsertStart = clock.instant();
    return true;
  }

  private void ack(Delivery delivery, List<DeadLetter> deadLetters, Instant start)
      throws InterruptedException {
    var end = clock.instant();
    if (!consumer.ack(delivery, deadLetters)) {
      pause(PauseReason.DEAD_LETTERS, "no room for " + deadLetters.size() + " more dead letters");
      return;
    }
    bisector = null;
    backoff.reset();
    clearPause();
    if (!deadLetters.isEmpty()) {
      metrics.recordDeadLettered(deadLetters.size());
      LOG.log(
          Level.ERROR,
          "{0} logs are dead letters now, the first because: {1}",
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

  private void clearPause() {
    if (pauseState != null) {
      pauseState = null;
      LOG.log(Level.INFO, "delivery goes on");
    }
  }

  /** The first failure of a kind is said, the same again is not news. */
  private void pause(PauseReason pauseReason, String reason) throws InterruptedException {
    metrics.recordRetryScheduled(pauseReason);
    var previous = pauseState;
    pauseState = new PauseState(pauseReason, reason);
    if (previous != null && previous.pauseReason() == pauseReason) {
      LOG.log(Level.DEBUG, "delivery postponed: {0}", reason);
    } else {
      switch (pauseReason) {
        case STORE, SPOOL -> LOG.log(Level.WARNING, "delivery postponed: {0}", reason);
        case SCHEMA ->
            LOG.log(
                Level.ERROR,
                "delivery waits for somebody to mend the tables, logs stay in the spool: {0}",
                reason);
        case DEAD_LETTERS ->
            LOG.log(
                Level.ERROR,
                "delivery waits for somebody to look at the dead letters, logs stay in the spool: {0}",
                reason);
      }
    }
    backoff.pause();
  }

  private static long oldestReceivedNanos(Delivery delivery) {
    return delivery.batches().stream().mapToLong(LogBatch::receivedNanos).min().orElseThrow();
  }

  /** Asks the worker to deliver what is waiting and then to end; returns at once. */
  public void drain() {
    draining = true;
    consumer.flush();
  }

  /**
   * Drains for at most {@code budget}, then interrupts; waits for the end either way.
   *
   * @return whether everything that was waiting is stored
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

  /** The flag too, since a store may swallow the interrupt and report a failure like any other. */
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
