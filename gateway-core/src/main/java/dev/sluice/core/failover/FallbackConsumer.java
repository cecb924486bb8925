package dev.sluice.core.failover;

import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.port.FallbackSpoolConsumer;
import dev.sluice.core.port.Scheduler;
import dev.sluice.core.port.SpoolConsumer;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * What the second spool has, for a worker of this process while the first is away, and nothing
 * while it is well. Whoever gives back takes turns with the worker: neither has a delivery while
 * the other has one.
 *
 * <p>A delivery that a worker has begun stays the worker's until it is settled, also when the first
 * is well again, and from one start to the next: an insert of it may still be under way in the
 * store, and is ended only by whoever stores the same delivery again. Where no worker is, it is
 * given back once any insert of it has ended by itself.
 *
 * <p>{@code returns} is guarded by {@code turn}.
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
   * @param workerActive whether there is one
   * @param maxInsertDuration longer than a store works at one insert
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
      return Optional.empty(); // something is being given back
    }
    try {
      if (!consumer.hasInFlight() && breaker.isClosed()) {
        return Optional.empty(); // became well while we waited
      }
      return consumer.pollConfirmed(timeout, linger);
    } finally {
      lock.unlock();
    }
  }

  @Override
  public boolean ack(Delivery delivery, List<DeadLetter> deadLetters) {
    lock.lock();
    try {
      boolean done = consumer.ack(delivery, deadLetters);
      deliveryAcked.signalAll();
      return done;
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

  /** The worker is gone: what it has not settled, and what is behind, stays for the next start. */
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

  /** Whether what was begun will be settled. */
  boolean hasWorker() {
    return workerActive;
  }

  /**
   * For whoever gives back: {@code returns} is its own from now on until {@link #unlockAfterDrain},
   * unless the worker has something or takes longer than {@code patience}.
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
