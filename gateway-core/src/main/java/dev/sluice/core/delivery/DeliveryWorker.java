package dev.sluice.core.delivery;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.Deliveries;
import dev.sluice.core.port.Deliveries.Delivery;
import dev.sluice.core.port.DeliveryMeter;
import dev.sluice.core.port.LogStore;
import dev.sluice.core.port.LogStore.Outcome;
import dev.sluice.core.port.LogStore.Portion;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.time.InstantSource;

/**
 * Moves deliveries from one shard of the spool to the store, one at a time, on a virtual thread of
 * its own.
 *
 * <p>There is one way to recover. Whatever goes wrong, the delivery stays unsettled, the worker
 * pauses, and {@link Deliveries#next} hands it out again: after a busy store, a lost connection or
 * a restart alike.
 */
public final class DeliveryWorker implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(DeliveryWorker.class.getName());
  private static final Duration PATIENCE = Duration.ofMillis(250);

  private final Deliveries deliveries;
  private final LogStore store;
  private final DeliveryMeter meter;
  private final Backoff backoff;
  private final InstantSource clock;
  private final Thread thread;
  private volatile boolean draining;
  private volatile boolean stopped;
  private volatile boolean drained;
  private boolean troubled;

  private DeliveryWorker(
      String name,
      Deliveries deliveries,
      LogStore store,
      DeliveryMeter meter,
      Backoff backoff,
      InstantSource clock) {
    this.deliveries = deliveries;
    this.store = store;
    this.meter = meter;
    this.backoff = backoff;
    this.clock = clock;
    this.thread = Thread.ofVirtual().name("delivery-" + name).unstarted(this::run);
  }

  /** A worker exists only while running: there is no half-built state to close by mistake. */
  public static DeliveryWorker start(
      String name,
      Deliveries deliveries,
      LogStore store,
      DeliveryMeter meter,
      Backoff backoff,
      InstantSource clock) {
    var worker = new DeliveryWorker(name, deliveries, store, meter, backoff, clock);
    worker.thread.start();
    return worker;
  }

  /** False once the loop has ended; readiness follows it. */
  public boolean alive() {
    return thread.isAlive();
  }

  private void run() {
    try {
      while (!stopped) {
        boolean last = draining;
        boolean found = step(last ? Duration.ZERO : PATIENCE);
        if (last && !found) {
          drained = true;
          return;
        }
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt(); // out of time; what is unsettled stays in the spool
    }
  }

  private boolean step(Duration patience) throws InterruptedException {
    try {
      var next = deliveries.next(patience);
      if (next.isEmpty()) {
        return false;
      }
      deliver(next.get());
    } catch (RuntimeException e) {
      postponed(e.toString());
    } catch (Error e) {
      // out of memory, most likely, and of somebody else's making: to end would stop the shard
      LOG.log(Level.ERROR, "delivery failed, it is tried again", e);
      postponed(e.toString());
    }
    return true;
  }

  private void deliver(Delivery delivery) throws InterruptedException {
    var start = clock.instant();
    switch (store.store(Portion.of(delivery))) {
      case Outcome.Stored() -> {
        var end = clock.instant();
        deliveries.settle(delivery);
        meter.stored(
            delivery.records(),
            delivery.batches().size(),
            Duration.between(start, end),
            Duration.ofNanos(
                end.getEpochSecond() * 1_000_000_000L + end.getNano() - oldest(delivery)));
        backoff.reset();
        if (troubled) {
          troubled = false;
          LOG.log(Level.INFO, "delivery goes on");
        }
      }
      case Outcome.TryLater(var reason) -> postponed(reason);
      case Outcome.Misshapen(var reason) ->
          postponed("the tables are not as they should be: " + reason);
      case Outcome.Corrupt(var appendId, var reason) -> deliveries.setAside(appendId, reason);
      case Outcome.Refused(var reason) -> {
        meter.refused();
        LOG.log(
            Level.ERROR,
            "the store refused {0} logs, they stay in the spool: {1}",
            delivery.records(),
            reason);
        backoff.pause();
      }
    }
  }

  /** The first failure is a warning, the same again is not news. */
  private void postponed(String reason) throws InterruptedException {
    meter.postponed(reason);
    LOG.log(troubled ? Level.DEBUG : Level.WARNING, "delivery postponed: {0}", reason);
    troubled = true;
    backoff.pause();
  }

  private static long oldest(Delivery delivery) {
    return delivery.batches().stream().mapToLong(LogBatch::receivedNanos).min().orElseThrow();
  }

  /** Asks the worker to deliver what is waiting and then to end; returns at once. */
  public void drain() {
    draining = true;
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
