package dev.sluice.core.delivery;

import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.port.SpoolConsumer;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.StampedLock;

/**
 * Deliveries of a shard for one of several workers, of whom one at a time gathers.
 *
 * <p>While one worker waits for the store, another may store too, which keeps a second core of the
 * store busy. Were two to gather at once, each would get half of what comes in, and the store twice
 * as many inserts of half the size; that is dear where little comes in, and where much does, a
 * delivery is gathered in no time.
 *
 * <p>A delivery that somebody may have tried before is out alone: a spool that comes back without
 * what it wrote last hands out to one worker what another is storing, and whoever looks for it in
 * the store before that has ended does not find it.
 */
public final class ExclusiveRedeliveryConsumer implements SpoolConsumer {

  /** What the workers of a shard have in common. */
  public static final class ShardLocks {
    final ReentrantLock pollLock = new ReentrantLock(true);

    /** Held while a delivery is out: by many, or by the one that has to be alone. */
    private final StampedLock deliveryLock = new StampedLock();
  }

  private static final long UNLOCKED = 0;

  private final SpoolConsumer delegate;
  private final ShardLocks locks;

  /** For the delivery that is out. */
  private long lockStamp = UNLOCKED;

  public ExclusiveRedeliveryConsumer(SpoolConsumer delegate, ShardLocks locks) {
    this.delegate = delegate;
    this.locks = locks;
  }

  @Override
  public Optional<Delivery> poll(Duration timeout, Duration linger) throws InterruptedException {
    release(); // whoever asks has ended with the last one, stored or not
    locks.pollLock.lockInterruptibly();
    try {
      while (true) {
        var next = delegate.poll(timeout, linger);
        if (next.isEmpty()) {
          return next;
        }
        lockStamp =
            next.get().redelivered()
                ? locks.deliveryLock.writeLockInterruptibly()
                : locks.deliveryLock.readLockInterruptibly();
        if (delegate.renewLease(next.get())) { // to be let out may have taken long
          return next;
        }
        release();
      }
    } finally {
      locks.pollLock.unlock();
    }
  }

  private void release() {
    if (lockStamp != UNLOCKED) {
      locks.deliveryLock.unlock(lockStamp);
      lockStamp = UNLOCKED;
    }
  }

  @Override
  public boolean ack(Delivery delivery, List<DeadLetter> deadLetters) {
    try {
      return delegate.ack(delivery, deadLetters);
    } finally {
      release(); // settled or not, nobody is storing it
    }
  }

  @Override
  public boolean renewLease(Delivery delivery) {
    return delegate.renewLease(delivery);
  }

  @Override
  public void flush() {
    delegate.flush();
  }

  @Override
  public void skip(UUID appendId, String reason) {
    release();
    delegate.skip(appendId, reason);
  }

  @Override
  public int skippedEntries() {
    return delegate.skippedEntries();
  }

  @Override
  public void close() {
    release();
    delegate.close();
  }
}
