package dev.sluice.core.failover;

import dev.sluice.core.port.FallbackSpoolConsumer;
import dev.sluice.core.port.Scheduler;
import dev.sluice.core.port.SpoolConsumer;
import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Consumes the fallback spool for a delivery worker of this process while the circuit breaker is
 * open; while the breaker is closed, it has no deliveries. The worker and {@link FallbackDrainer}
 * exclude each other: neither has a delivery while the other has one.
 *
 * <p>A delivery that a worker has begun stays with the worker until it is acked, also when the
 * primary is available again, and across a restart: an insert of the delivery may still be running
 * in the store, and its outcome is known only when the same delivery is stored again. Without a
 * worker, such a delivery is drained to the primary after the maximum duration of an insert.
 *
 * <p>{@code lock} guards {@code consumer}.
 */
final class FallbackConsumer implements SpoolConsumer {
  private final FallbackSpoolConsumer consumer;
  private final CircuitBreaker breaker;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition deliveryAcked = lock.newCondition();
  private final Duration maxInsertDuration;
  private volatile boolean workerActive;
  private volatile boolean insertsExpired;

  /**
   * Creates the consumer.
   *
   * @param workerActive whether a worker of this process consumes the fallback
   * @param maxInsertDuration a duration longer than any insert of the store
   */
  FallbackConsumer(
      FallbackSpoolConsumer consumer,
      CircuitBreaker breaker,
      boolean workerActive,
      Duration maxInsertDuration) {
    this.consumer = consumer;
    this.breaker = breaker;
    this.workerActive = workerActive;
    this.maxInsertDuration = maxInsertDuration;
  }

  void start(Scheduler scheduler) {
    if (!workerActive) {
      scheduler.schedule(maxInsertDuration, () -> insertsExpired = true);
    }
  }

  @Override
  public Optional<Delivery> poll(Duration timeout, Duration linger) throws InterruptedException {
    if (!consumer.hasInFlight() && !breaker.awaitOpen(timeout)) {
      return Optional.empty();
    }
    if (!lock.tryLock(timeout.toNanos(), TimeUnit.NANOSECONDS)) {
      return Optional.empty(); // the drainer is active
    }
    try {
      if (!consumer.hasInFlight() && breaker.isClosed()) {
        return Optional.empty(); // the breaker closed during the wait
      }
      return consumer.pollConfirmed(timeout, linger);
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void ack(Delivery delivery) {
    lock.lock();
    try {
      consumer.ack(delivery);
      deliveryAcked.signalAll();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public boolean renewLease(Delivery delivery) {
    lock.lock();
    try {
      return consumer.renewLease(delivery);
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void skip(UUID appendId, String reason) {
    lock.lock();
    try {
      consumer.skip(appendId, reason);
      deliveryAcked.signalAll();
    } finally {
      lock.unlock();
    }
  }

  @Override
  public void flush() {
    consumer.flush();
  }

  @Override
  public int skippedEntries() {
    return consumer.skippedEntries();
  }

  /** Ends the worker's use; deliveries that are not acked stay in the spool for the next start. */
  @Override
  public void close() {
    lock.lock();
    try {
      workerActive = false;
      deliveryAcked.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Whether a worker is active, which will ack the delivery that it has begun. */
  boolean hasWorker() {
    return workerActive;
  }

  /**
   * Acquires the lock for the drainer, which then uses the consumer exclusively until {@link
   * #unlockAfterDrain}. Returns false if the worker holds the lock or has a delivery in flight at
   * the end of the timeout.
   */
  boolean tryLockForDrain(Duration timeout) throws InterruptedException {
    if (!lock.tryLock(timeout.toNanos(), TimeUnit.NANOSECONDS)) {
      return false;
    }
    boolean acquired = false;
    try {
      long remainingNanos = timeout.toNanos();
      while (hasInFlight() && workerActive && remainingNanos > 0) {
        remainingNanos = deliveryAcked.awaitNanos(remainingNanos);
      }
      acquired = !hasInFlight();
      return acquired;
    } finally {
      if (!acquired) {
        lock.unlock();
      }
    }
  }

  private boolean hasInFlight() {
    return !insertsExpired && consumer.hasInFlight();
  }

  void unlockAfterDrain() {
    lock.unlock();
  }
}
