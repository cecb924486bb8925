package dev.sluice.core.port;

import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogBatch;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/**
 * The other end of the {@link Spool}: hands out the oldest unsettled delivery, again and again
 * until it is settled.
 *
 * <p>What a delivery is made of is recorded before it is handed out: whoever has it next, after a
 * failure, a restart or from a dead consumer, has the same batches in the same order.
 *
 * <p>For one thread at a time; the threads of one shard each have their own.
 */
public interface SpoolConsumer extends AutoCloseable {

  /**
   * Waits up to {@code patience} for something to deliver. Blocks, so it is called from a virtual
   * thread. A delivery that was not settled comes first.
   *
   * @param minLinger how long the first entry waits for company at least, when more than usual is
   *     wanted
   * @throws RuntimeException when the spool is out of reach; asking again later is right
   */
  Optional<Delivery> poll(Duration timeout, Duration minLinger) throws InterruptedException;

  /** As above, gathering for as long as usual. */
  default Optional<Delivery> poll(Duration timeout) throws InterruptedException {
    return poll(timeout, Duration.ZERO);
  }

  /**
   * Never handed out again: every record is stored, or among the dead letters, which are kept in
   * the same step. Settling what another has settled in the meantime changes nothing.
   *
   * @return false when there is no room for the dead letters, and nothing was done
   */
  boolean ack(Delivery delivery, List<DeadLetter> deadLetters);

  /** Stored, all of it: never handed out again. */
  default void ack(Delivery delivery) {
    boolean _ = ack(delivery, List.of());
  }

  /**
   * Shows that whoever has the delivery is alive, which others cannot see while it is worked on;
   * cheap enough to be called often.
   *
   * @return false when another has taken it over: then it is theirs
   */
  boolean renewLease(Delivery delivery);

  /** From now on {@link #poll} gathers nothing: what is there is handed out. Any thread. */
  void flush();

  /**
   * Of the delivery handed out last, the batch that can never be delivered as it is: it stays in
   * the spool, is counted there, and is passed over from now on.
   */
  void skip(UUID appendId, String reason);

  /** Entries that this release cannot read, or that were set aside; they stay in the spool. */
  int skippedEntries();

  @Override
  void close();

  /**
   * How large a delivery may become; by whichever is met first.
   *
   * @param maxRecords log records
   * @param maxBytes bytes of logs as they are held, packed or not; at least one batch is delivered
   * @param linger how long the first batch waits for more
   */
  record DeliveryLimits(long maxRecords, long maxBytes, Duration linger) {
    /** 500,000 records, 128 MiB, one second. */
    public static final DeliveryLimits DEFAULT =
        new DeliveryLimits(500_000, 128L << 20, Duration.ofSeconds(1));

    public DeliveryLimits {
      if (maxRecords < 1 || maxBytes < 1 || linger.isNegative()) {
        throw new IllegalArgumentException(
            "a delivery needs positive bounds, has max-records %d, max-bytes %d, max-age %s"
                .formatted(maxRecords, maxBytes, linger));
      }
    }
  }

  /**
   * Batches that are stored together.
   *
   * @param token names this very run of batches; the same run has the same token
   * @param batches oldest first, at least one
   * @param redelivered whether somebody may have tried to store it before, with whatever success
   */
  record Delivery(String token, List<LogBatch> batches, boolean redelivered) {
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
