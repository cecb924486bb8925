package dev.sluice.core.delivery;

import dev.sluice.core.port.Scheduler;
import dev.sluice.core.port.SpoolConsumer;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.Executor;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * A consumer that renews the lease on its delivery at an interval, from the poll until the delivery
 * is acknowledged or polled again.
 *
 * <p>An insert may take longer than the idle timeout of the spool. Without a renewal, another
 * consumer takes over the entries of a consumer that is alive, and inserts the same records at the
 * same time. The renewal ends with the process, so that the entries of a dead process are taken
 * over.
 *
 * <p>The delegate is called by one thread at a time.
 */
public final class LeaseRenewingConsumer implements SpoolConsumer {
  private static final System.Logger LOG = System.getLogger(LeaseRenewingConsumer.class.getName());

  private final SpoolConsumer delegate;
  private final Scheduler scheduler;
  private final Executor executor;
  private final Duration interval;
  private final ReentrantLock lock = new ReentrantLock();

  /** The delivery whose lease is renewed; null for none. */
  private @Nullable Delivery current;

  /** Whether a renewal is scheduled. One is enough for all deliveries, which follow each other. */
  private boolean scheduled;

  /**
   * @param scheduler schedules the renewals; its thread must not block
   * @param executor runs the renewals, which may block
   * @param interval the time between renewals, positive
   */
  public LeaseRenewingConsumer(
      SpoolConsumer delegate, Scheduler scheduler, Executor executor, Duration interval) {
    if (!interval.isPositive()) {
      throw new IllegalArgumentException("interval is " + interval + ", must be positive");
    }
    this.delegate = delegate;
    this.scheduler = scheduler;
    this.executor = executor;
    this.interval = interval;
  }

  @Override
  public Optional<Delivery> poll(Duration timeout, Duration minLinger) throws InterruptedException {
    endRenewal();
    var next = delegate.poll(timeout, minLinger);
    next.ifPresent(this::startRenewal);
    return next;
  }

  private void startRenewal(Delivery delivery) {
    lock.lock();
    try {
      current = delivery;
      if (!scheduled) {
        schedule();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Ends the renewal; when the method returns, no renewal is running. */
  private void endRenewal() {
    lock.lock();
    try {
      current = null;
    } finally {
      lock.unlock();
    }
  }

  private void schedule() {
    try {
      scheduler.schedule(interval, () -> executor.execute(this::renew));
      scheduled = true;
    } catch (RuntimeException e) {
      scheduled = false; // a shutdown; the lease outlives it
      LOG.log(Level.DEBUG, "lease renewal not scheduled", e);
    }
  }

  private void renew() {
    lock.lock();
    try {
      scheduled = false;
      if (current == null) {
        return;
      }
      try {
        if (!delegate.renewLease(current)) {
          current = null; // the worker notices by its own check
          return;
        }
      } catch (RuntimeException e) {
        LOG.log(Level.WARNING, "lease not renewed, retrying: {0}", e.toString());
      }
      schedule();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public boolean renewLease(Delivery delivery) {
    lock.lock();
    try {
      return delegate.renewLease(delivery);
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void ack(Delivery delivery) {
    endRenewal();
    delegate.ack(delivery);
  }

  @Override
  public void flush() {
    delegate.flush();
  }

  @Override
  public void skip(UUID appendId, String reason) {
    endRenewal();
    delegate.skip(appendId, reason);
  }

  @Override
  public void close() {
    endRenewal();
    delegate.close();
  }
}
