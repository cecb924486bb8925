package dev.sluice.core.delivery;

import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.port.Deliveries;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Deliveries of a shard for one of several workers, of whom one at a time gathers.
 *
 * <p>While one worker waits for the store, another may store too, which keeps a second core of the
 * store busy. Were two to gather at once, each would get half of what comes in, and the store twice
 * as many inserts of half the size; that is dear where little comes in, and where much does, a
 * delivery is gathered in no time.
 */
public final class InTurn implements Deliveries {
  private final Deliveries deliveries;
  private final ReentrantLock gathering;

  /**
   * @param gathering the same for all workers of the shard, and fair
   */
  public InTurn(Deliveries deliveries, ReentrantLock gathering) {
    this.deliveries = deliveries;
    this.gathering = gathering;
  }

  @Override
  public Optional<Delivery> next(Duration patience, Duration gather) throws InterruptedException {
    gathering.lockInterruptibly();
    try {
      return deliveries.next(patience, gather);
    } finally {
      gathering.unlock();
    }
  }

  @Override
  public boolean settle(Delivery delivery, List<DeadLetter> deadLetters) {
    return deliveries.settle(delivery, deadLetters);
  }

  @Override
  public boolean keep(Delivery delivery) {
    return deliveries.keep(delivery);
  }

  @Override
  public void hurry() {
    deliveries.hurry();
  }

  @Override
  public void setAside(UUID appendId, String reason) {
    deliveries.setAside(appendId, reason);
  }

  @Override
  public int unreadable() {
    return deliveries.unreadable();
  }

  @Override
  public void close() {
    deliveries.close();
  }
}
