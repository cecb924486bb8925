package dev.sluice.core.port;

import dev.sluice.core.domain.LogBatch;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/**
 * The consumer of a {@link Spool}. It returns the oldest unacknowledged delivery, and returns it
 * again until it is acknowledged.
 *
 * <p>The spool records the batches of a delivery before it returns the delivery. A redelivery,
 * after a failure, after a restart or taken over from a dead consumer, has the same batches in the
 * same order.
 *
 * <p>Not thread-safe, except for {@link #flush}; each worker of a shard has its own consumer.
 */
public interface SpoolConsumer extends AutoCloseable {

  /**
   * Waits up to {@code timeout} for a delivery. Blocks, so it is called from a virtual thread. An
   * unacknowledged delivery comes before newer entries.
   *
   * @param timeout the maximum time to wait for the first entry
   * @param minLinger the minimum linger: the time that the first entry waits for more; the
   *     configured linger applies when it is longer
   * @return the delivery; empty when the spool has none
   * @throws RuntimeException when the spool is unreachable; a later call may succeed
   */
  Optional<Delivery> poll(Duration timeout, Duration minLinger) throws InterruptedException;

  /**
   * Acknowledges a delivery whose records are all stored or in the {@link DeadLetterStore}. The
   * delivery is not returned again. An acknowledgement of a delivery that another consumer has
   * acknowledged has no effect.
   */
  void ack(Delivery delivery);

  /**
   * Renews the lease on this delivery, so that other consumers see that its consumer is alive while
   * it stores the records. Cheap enough for frequent calls.
   *
   * @return false when another consumer has taken over the delivery and owns it now
   */
  boolean renewLease(Delivery delivery);

  /**
   * Ends the linger: from now on {@link #poll} returns the available entries immediately. Any
   * thread may call it.
   */
  void flush();

  /**
   * Sets aside a batch, of the most recent delivery, that can never be delivered as it is. The
   * batch stays in the spool, is counted there, and is not part of any later delivery.
   */
  void skip(UUID appendId, String reason);

  @Override
  void close();

  /**
   * The limits of a delivery; it is complete as soon as one limit is reached.
   *
   * @param maxRecords the maximum number of log records
   * @param maxBytes the maximum size of the payloads in bytes as they are in memory, compressed or
   *     not; a larger batch is a delivery of its own
   * @param linger the time that the first batch waits for more
   */
  record DeliveryLimits(long maxRecords, long maxBytes, Duration linger) {
    /** The default limits: 500,000 records, 128 MiB, one second. */
    public static final DeliveryLimits DEFAULT =
        new DeliveryLimits(500_000, 128L << 20, Duration.ofSeconds(1));

    public DeliveryLimits {
      if (maxRecords < 1 || maxBytes < 1 || linger.isNegative()) {
        throw new IllegalArgumentException(
            "delivery limits must be positive: max-records %d, max-bytes %d, linger %s"
                .formatted(maxRecords, maxBytes, linger));
      }
    }
  }

  /**
   * The batches that a worker stores together.
   *
   * @param token the deduplication token of this sequence of batches; the same sequence has the
   *     same token
   * @param batches the batches, oldest first, at least one
   * @param redelivered whether an earlier attempt may have stored records of the delivery
   */
  record Delivery(String token, List<LogBatch> batches, boolean redelivered) {
    public Delivery {
      batches = List.copyOf(batches);
      if (batches.isEmpty()) {
        throw new IllegalArgumentException("a delivery must have at least one batch");
      }
    }

    /** Returns the number of log records in all batches. */
    public long records() {
      return batches.stream().mapToLong(LogBatch::records).sum();
    }
  }
}
