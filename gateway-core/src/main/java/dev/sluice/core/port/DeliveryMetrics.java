package dev.sluice.core.port;

import java.time.Duration;

/** Counts what goes out. Implementations do not block. */
public interface DeliveryMetrics {

  /** Why a delivery is not stored at the moment. */
  enum PauseReason {
    /** The store is busy, away or in doubt. */
    STORE,
    /** The store's tables are not as they should be; a person is needed. */
    SCHEMA,
    /** There is no room for another dead letter; a person is needed. */
    DEAD_LETTERS,
    /** The spool is out of reach. */
    SPOOL
  }

  /**
   * A delivery was settled.
   *
   * @param records that are stored
   * @param took from handing over to the store until its confirmation
   * @param sinceReceived age of the oldest record: from its receipt until the confirmation
   */
  void recordStored(long records, int batches, Duration took, Duration sinceReceived);

  /** Records of a settled delivery that the store refused: they are dead letters now. */
  void recordDeadLettered(int records);

  /** A delivery was not stored and will be handed out again. */
  void recordRetryScheduled(PauseReason reason);
}
