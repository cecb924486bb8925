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
 * or a restart alike. Records that the store refuses are found by {@link Bisection} and become dead
 * letters; the others are stored.
 */
public final class DeliveryWorker implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(DeliveryWorker.class.getName());
  private static final Duration PATIENCE = Duration.ofMillis(250);
  private static final StoreResult TAKEN_OVER =
      new StoreResult.Retryable("another has taken the delivery over");

  /**
   * How a worker takes its time.
   *
   * @param backoff its pauses after failures
   * @param sleeper how it keeps to the store's pace
   * @param clock tells the age of what it stores, and when the last store began
   * @param maxRefused refused records in one delivery beyond which it is the table that is wrong
   * @param workers that share the store, and its pace
   */
  public record Manner(
      Backoff backoff, Backoff.Sleeper sleeper, InstantSource clock, int maxRefused, int workers) {
    public Manner {
      if (maxRefused < 1) {
        throw new IllegalArgumentException("at most " + maxRefused + " refused records");
      }
      if (workers < 1) {
        throw new IllegalArgumentException(workers + " workers");
      }
    }
  }

  /**
   * Why nothing is stored at the moment.
   *
   * @param reason for the operator, without any log's content
   */
  public record Trouble(PauseReason pauseReason, String reason) {}

  private final SpoolConsumer deliveries;
  private final LogStore store;
  private final LogEnricher naming;
  private final DeliveryMetrics meter;
  private final Backoff backoff;
  private final Backoff.Sleeper sleeper;
  private final InstantSource clock;
  private final int maxRefused;
  private final int workers;
  private final Thread thread;
  private volatile boolean draining;
  private volatile boolean stopped;
  private volatile boolean drained;
  private volatile @Nullable Trouble trouble;
  private Duration pace = Duration.ZERO;
  private Instant storeBegan = Instant.EPOCH;

  /** Of the delivery handed out last, if it was refused. */
  private @Nullable Bisection bisection;

  private DeliveryWorker(
      String name,
      SpoolConsumer deliveries,
      LogStore store,
      LogEnricher naming,
      DeliveryMetrics meter,
      Manner manner) {
    this.deliveries = deliveries;
    this.store = store;
    this.naming = naming;
    this.meter = meter;
    this.backoff = manner.backoff();
    this.sleeper = manner.sleeper();
    this.clock = manner.clock();
    this.maxRefused = manner.maxRefused();
    this.workers = manner.workers();
    this.thread = Thread.ofVirtual().name("delivery-" + name).unstarted(this::run);
  }

  /**
   * A worker exists only while running: there is no half-built state to close by mistake.
   *
   * @param naming of this worker alone
   */
  public static DeliveryWorker start(
      String name,
      SpoolConsumer deliveries,
      LogStore store,
      LogEnricher naming,
      DeliveryMetrics meter,
      Manner manner) {
    var worker = new DeliveryWorker(name, deliveries, store, naming, meter, manner);
    worker.thread.start();
    return worker;
  }

  /** False once the loop has ended; readiness follows it. */
  public boolean alive() {
    return thread.isAlive();
  }

  /** What keeps it from storing; empty while it stores, or has nothing to. */
  public Optional<Trouble> trouble() {
    return Optional.ofNullable(trouble);
  }

  private void run() {
    try {
      while (!stopped) {
        boolean last = draining;
        boolean found = step(last);
        if (last && !found) {
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
      pace = last ? Duration.ZERO : store.minInsertInterval();
      var gather = last ? Duration.ZERO : store.preferredLinger();
      var next =
          deliveries.poll(
              last ? Duration.ZERO : PATIENCE, gather.compareTo(pace) < 0 ? pace : gather);
      if (next.isEmpty()) {
        goesOn();
        return false;
      }
      deliver(next.get());
    } catch (RuntimeException e) {
      postponed(PauseReason.SPOOL, e.toString());
    } catch (Error e) {
      // out of memory, most likely, and of somebody else's making: to end would stop the shard
      LOG.log(Level.ERROR, "delivery failed, it is tried again", e);
      postponed(PauseReason.STORE, e.toString());
    }
    return true;
  }

  private void deliver(Delivery delivery) throws InterruptedException {
    var start = clock.instant();
    if (bisection != null && !bisection.isOf(delivery)) {
      bisection = null; // another has settled it, or it is made of other batches now
    }
    switch (bisection == null ? whole(delivery) : pieces(bisection, delivery)) {
      case StoreResult.Stored() ->
          settle(delivery, bisection == null ? List.of() : bisection.letters(), start);
      case StoreResult.Retryable(var reason) -> postponed(PauseReason.STORE, reason);
      case StoreResult.SchemaMismatch(var reason) -> postponed(PauseReason.SCHEMA, reason);
      case StoreResult.Corrupt(var appendId, var reason) -> {
        LOG.log(Level.ERROR, "a batch is set aside, it cannot be delivered: {0}", reason);
        bisection = null;
        deliveries.skip(appendId, reason);
      }
      case StoreResult.Rejected(var reason) -> throw new IllegalStateException(reason); // see whole
    }
  }

  /** At once, or if that is refused in pieces. */
  private StoreResult whole(Delivery delivery) throws InterruptedException {
    // not with each piece: a refused record would hold the shard for minutes
    if (!keepPace(delivery)) {
      return TAKEN_OVER;
    }
    var storeResult = store(DeliverySlice.of(delivery));
    if (storeResult instanceof StoreResult.Rejected(var reason)) {
      LOG.log(
          Level.WARNING,
          "{0} logs are refused, those that are not at fault are stored without the others: {1}",
          delivery.records(),
          reason);
      bisection = new Bisection(delivery, reason, maxRefused, clock);
      return pieces(bisection, delivery);
    }
    return storeResult;
  }

  /** Which may take long: others must see that somebody is at it. */
  private StoreResult pieces(Bisection refused, Delivery delivery) throws InterruptedException {
    bisection = null; // what ends in the middle of a step, such as for want of memory, starts over
    var storeResult =
        refused.go(piece -> deliveries.renewLease(delivery) ? store(piece) : TAKEN_OVER);
    bisection = refused;
    return storeResult;
  }

  private StoreResult store(DeliverySlice portion) throws InterruptedException {
    try {
      return store.store(portion, naming);
    } catch (RuntimeException e) {
      return new StoreResult.Retryable(e.toString());
    }
  }

  /**
   * In short sleeps, so that an orderly end need not wait; a clock set back costs no more.
   *
   * @return false when another has taken the delivery over meanwhile
   */
  private boolean keepPace(Delivery delivery) throws InterruptedException {
    var own = pace.multipliedBy(workers);
    var left = own.minus(Duration.between(storeBegan, clock.instant()));
    if (left.compareTo(own) > 0) {
      left = own;
    }
    while (left.isPositive() && !draining) {
      var nap = left.compareTo(PATIENCE) < 0 ? left : PATIENCE;
      sleeper.sleep(nap);
      left = left.minus(nap);
      if (!deliveries.renewLease(delivery)) {
        return false;
      }
    }
    storeBegan = clock.instant();
    return true;
  }

  private void settle(Delivery delivery, List<DeadLetter> letters, Instant start)
      throws InterruptedException {
    var end = clock.instant();
    if (!deliveries.ack(delivery, letters)) {
      postponed(PauseReason.DEAD_LETTERS, "no room for " + letters.size() + " more dead letters");
      return;
    }
    bisection = null;
    backoff.reset();
    goesOn();
    if (!letters.isEmpty()) {
      meter.recordDeadLettered(letters.size());
      LOG.log(
          Level.ERROR,
          "{0} logs are dead letters now, the first because: {1}",
          letters.size(),
          letters.getFirst().reason());
    }
    meter.recordStored(
        delivery.records() - letters.size(),
        delivery.batches().size(),
        Duration.between(start, end),
        Duration.ofNanos(end.getEpochSecond() * 1_000_000_000L + end.getNano() - oldest(delivery)));
  }

  private void goesOn() {
    if (trouble != null) {
      trouble = null;
      LOG.log(Level.INFO, "delivery goes on");
    }
  }

  /** The first failure of a kind is said, the same again is not news. */
  private void postponed(PauseReason pauseReason, String reason) throws InterruptedException {
    meter.recordRetryScheduled(pauseReason);
    var before = trouble;
    trouble = new Trouble(pauseReason, reason);
    if (before != null && before.pauseReason() == pauseReason) {
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

  private static long oldest(Delivery delivery) {
    return delivery.batches().stream().mapToLong(LogBatch::receivedNanos).min().orElseThrow();
  }

  /** Asks the worker to deliver what is waiting and then to end; returns at once. */
  public void drain() {
    draining = true;
    deliveries.flush();
  }

  /**
   * Drains for at most {@code budget}, then interrupts; waits for the end either way.
   *
   * @return whether everything that was waiting is stored
   */
  public boolean end(Duration budget) {
    drain();
    try {
      if (!thread.join(budget)) {
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
    end(Duration.ZERO);
    deliveries.close();
  }
}
