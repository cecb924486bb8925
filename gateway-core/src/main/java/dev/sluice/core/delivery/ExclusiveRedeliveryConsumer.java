package dev.sluice.core.delivery;

import dev.sluice.core.port.SpoolConsumer;
import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.StampedLock;

/**
 * A consumer for one of several workers of a shard. Only one worker polls at a time, and a
 * redelivery is processed exclusively (ADR 0023).
 *
 * <p>Several workers may insert concurrently, which keeps a second core of the store busy. If two
 * workers polled concurrently, each would get half of the entries, and the store twice as many
 * inserts of half the size. That is expensive at a low rate; at a high rate a delivery fills
 * immediately.
 *
 * <p>No other delivery of the shard is processed together with a redelivery. A spool that restarts
 * without its latest writes may return a delivery to one worker while another worker still inserts
 * it. A check of the store for the records before that insert ends would not find them.
 */
public final class ExclusiveRedeliveryConsumer implements SpoolConsumer {

  /** The locks that the workers of a shard share. */
  public static final class ShardLocks {
    final ReentrantLock pollLock = new ReentrantLock(true);

    /** Held while a worker has a delivery: the write lock for a redelivery, else the read lock. */
    private final StampedLock deliveryLock;

    public ShardLocks() {
      this(new StampedLock());
    }

    private ShardLocks(StampedLock deliveryLock) {
      this.deliveryLock = deliveryLock;
    }

    /**
     * Returns the locks of another shard, or another spool, that may deliver the same batches: its
     * redeliveries exclude the deliveries of this one, and the other way round.
     */
    public ShardLocks ofOtherShard() {
      return new ShardLocks(deliveryLock);
    }
  }

  private static final long UNLOCKED = 0;

  private final SpoolConsumer delegate;
  private final ShardLocks locks;

  /** The stamp of the lock for the current delivery. */
  private long lockStamp = UNLOCKED;

  public ExclusiveRedeliveryConsumer(SpoolConsumer delegate, ShardLocks locks) {
    this.delegate = delegate;
    this.locks = locks;
  }

  @Override
  public Optional<Delivery> poll(Duration timeout, Duration linger) throws InterruptedException {
    release(); // a worker that polls has finished with its previous delivery, stored or not
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
        // the wait for the lock may have been long, and another worker may own the delivery now
        if (delegate.renewLease(next.get())) {
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
  public void ack(Delivery delivery) {
    try {
      delegate.ack(delivery);
    } finally {
      release(); // acknowledged or not, this worker no longer inserts it
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
  public void close() {
    release();
    delegate.close();
  }
}
