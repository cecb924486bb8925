package dev.sluice.core.port;

import java.time.Duration;

/** Records the metrics of delivery. Implementations do not block. */
public interface DeliveryMetrics {

  /** The reason that a delivery is not stored now. */
  enum PauseReason {
    /** The store is busy or unavailable, or the outcome of an insert is unknown. */
    STORE,
    /** The tables of the store do not have the expected schema; an operator must act. */
    SCHEMA,
    /** The spool is unreachable. */
    SPOOL
  }

  /**
   * Records an acknowledged delivery.
   *
   * @param records the number of stored records
   * @param batches the number of batches
   * @param duration the time from the start of the insert until the store confirmed it
   * @param sinceReceived the age of the oldest record: the time from its receipt until the
   *     confirmation
   */
  void recordStored(long records, int batches, Duration duration, Duration sinceReceived);

  /** Counts records of an acknowledged delivery that the store rejected: they are dead letters. */
  void recordDeadLettered(int records);

  /** Counts a delivery that is not stored and will be redelivered. */
  void recordRetryScheduled(PauseReason reason);
}
