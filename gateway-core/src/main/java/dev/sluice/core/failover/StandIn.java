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
final class StandIn implements SpoolConsumer {
  private final FallbackSpoolConsumer returns;
  private final Breaker breaker;
  private final ReentrantLock turn = new ReentrantLock();
  private final Condition settled = turn.newCondition();
  private final Duration longestInsert;
  private volatile boolean worker;
  private volatile boolean insertsEnded;

  /**
   * @param worker whether there is one
   * @param longestInsert longer than a store works at one insert
   */
  StandIn(FallbackSpoolConsumer returns, Breaker breaker, boolean worker, Duration longestInsert) {
    this.returns = returns;
    this.breaker = breaker;
    this.worker = worker;
    this.longestInsert = longestInsert;
  }

  void start(Scheduler scheduler) {
    if (!worker) {
      scheduler.schedule(longestInsert, () -> insertsEnded = true);
    }
  }

  @Override
  public Optional<Delivery> poll(Duration patience, Duration gather) throws InterruptedException {
    if (!returns.hasInFlight() && !breaker.awaitOpen(patience)) {
      return Optional.empty();
    }
    if (!turn.tryLock(patience.toNanos(), TimeUnit.NANOSECONDS)) {
      return Optional.empty(); // something is being given back
    }
    try {
      if (!returns.hasInFlight() && breaker.closed()) {
        return Optional.empty(); // became well while we waited
      }
      return returns.pollConfirmed(patience, gather);
    } finally {
      turn.unlock();
    }
  }

  @Override
  public boolean ack(Delivery delivery, List<DeadLetter> deadLetters) {
    turn.lock();
    try {
      boolean done = returns.ack(delivery, deadLetters);
      settled.signalAll();
      return done;
    } finally {
      turn.unlock();
    }
  }

  @Override
  public boolean renewLease(Delivery delivery) {
    turn.lock();
    try {
      return returns.renewLease(delivery);
    } finally {
      turn.unlock();
    }
  }

  @Override
  public void skip(UUID appendId, String reason) {
    turn.lock();
    try {
      returns.skip(appendId, reason);
      settled.signalAll();
    } finally {
      turn.unlock();
    }
  }

  @Override
  public void flush() {
    returns.flush();
  }

  @Override
  public int skippedEntries() {
    return returns.skippedEntries();
  }

  /** The worker is gone: what it has not settled, and what is behind, stays for the next start. */
  @Override
  public void close() {
    turn.lock();
    try {
      worker = false;
      settled.signalAll();
    } finally {
      turn.unlock();
    }
  }

  /** Whether what was begun will be settled. */
  boolean hasWorker() {
    return worker;
  }

  /**
   * For whoever gives back: {@code returns} is its own from now on until {@link #endTurn}, unless
   * the worker has something or takes longer than {@code patience}.
   */
  boolean takeTurn(Duration patience) throws InterruptedException {
    if (!turn.tryLock(patience.toNanos(), TimeUnit.NANOSECONDS)) {
      return false;
    }
    boolean mine = false;
    try {
      long left = patience.toNanos();
      while (isBegun() && worker && left > 0) {
        left = settled.awaitNanos(left);
      }
      mine = !isBegun();
      return mine;
    } finally {
      if (!mine) {
        turn.unlock();
      }
    }
  }

  private boolean isBegun() {
    return !insertsEnded && returns.hasInFlight();
  }

  void endTurn() {
    turn.unlock();
  }
}
