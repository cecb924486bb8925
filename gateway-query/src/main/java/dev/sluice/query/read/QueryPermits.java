package dev.sluice.query.read;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The permits for concurrent queries, shared among clients. The last quarter of them is for clients
 * without a running query, so that one client cannot take all. A permit that becomes free goes to
 * the waiting client with the fewest running queries, and among equals to the first. Thread-safe.
 */
final class QueryPermits {
  private static final int RESERVED_DIVISOR = 4;

  private static final class Waiter {
    private final String client;
    private final Condition granted;
    private boolean hasPermit;

    private Waiter(String client, Condition granted) {
      this.client = client;
      this.granted = granted;
    }
  }

  private final ReentrantLock lock = new ReentrantLock();
  private final List<Waiter> waiters = new ArrayList<>();
  private final Map<String, Integer> running = new HashMap<>();
  private final int reserved;
  private int free;

  /**
   * @param permits the number of permits; with fewer than four, none is reserved
   */
  QueryPermits(int permits) {
    free = permits;
    reserved = permits / RESERVED_DIVISOR;
  }

  /** Waits for a permit; false when there was none for this client within the maximum wait. */
  boolean tryAcquire(String client, Duration maxWait) throws InterruptedException {
    lock.lockInterruptibly();
    try {
      // Every waiter with as few running queries would have a permit if this client may have one.
      if (isAllowed(client)) {
        grant(client);
        return true;
      }
      var waiter = new Waiter(client, lock.newCondition());
      waiters.add(waiter);
      try {
        long nanos = maxWait.toNanos();
        while (!waiter.hasPermit && nanos > 0) {
          nanos = waiter.granted.awaitNanos(nanos);
        }
        return waiter.hasPermit;
      } catch (InterruptedException e) {
        if (waiter.hasPermit) {
          release(client);
        }
        throw e;
      } finally {
        waiters.remove(waiter);
      }
    } finally {
      lock.unlock();
    }
  }

  /** Returns a permit that {@link #tryAcquire} gave to this client. */
  void release(String client) {
    lock.lock();
    try {
      free++;
      running.computeIfPresent(client, (_, count) -> count == 1 ? null : count - 1);
      waiters.stream()
          .filter(waiter -> !waiter.hasPermit)
          .min(Comparator.comparingInt(waiter -> runningOf(waiter.client)))
          .filter(waiter -> isAllowed(waiter.client))
          .ifPresent(
              waiter -> {
                grant(waiter.client);
                waiter.hasPermit = true;
                waiter.granted.signal();
              });
    } finally {
      lock.unlock();
    }
  }

  private boolean isAllowed(String client) {
    return free > (runningOf(client) == 0 ? 0 : reserved);
  }

  private void grant(String client) {
    free--;
    running.merge(client, 1, Integer::sum);
  }

  private int runningOf(String client) {
    return running.getOrDefault(client, 0);
  }
}
