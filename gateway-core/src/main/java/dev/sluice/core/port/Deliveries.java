package dev.sluice.core.port;

import dev.sluice.core.domain.LogBatch;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * The other end of the {@link Spool}: hands out the oldest unsettled delivery, again and again
 * until it is settled.
 *
 * <p>For one thread at a time; the threads of one shard each have their own.
 */
public interface Deliveries extends AutoCloseable {

  /**
   * Waits up to {@code patience} for something to deliver. Blocks, so it is called from a virtual
   * thread. A delivery that was not settled comes first, of the same batches in the same order.
   *
   * @throws RuntimeException when the spool is out of reach; asking again later is right
   */
  Optional<Delivery> next(Duration patience) throws InterruptedException;

  /** Stored: never handed out again. */
  void settle(Delivery delivery);

  @Override
  void close();

  /**
   * Batches that are stored together.
   *
   * @param token names this very run of batches; the same run has the same token
   * @param batches oldest first, at least one
   */
  record Delivery(String token, List<LogBatch> batches) {
    public Delivery {
      batches = List.copyOf(batches);
      if (batches.isEmpty()) {
        throw new IllegalArgumentException("a delivery of nothing");
      }
    }

    /** Log records in all batches. */
    public long records() {
      return batches.stream().mapToLong(LogBatch::records).sum();
    }
  }
}
