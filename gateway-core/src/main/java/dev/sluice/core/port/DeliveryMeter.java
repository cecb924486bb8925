package dev.sluice.core.port;

import java.time.Duration;

/** Counts what goes out. Implementations do not block. */
public interface DeliveryMeter {

  /**
   * A delivery was stored and settled.
   *
   * @param took from handing over to the store until its confirmation
   * @param sinceReceived age of the oldest record: from its receipt until the confirmation
   */
  void stored(long records, int batches, Duration took, Duration sinceReceived);

  /** A delivery was not stored and will be handed out again. */
  void postponed(String reason);

  /** The store refused a delivery; it stays in the spool. */
  void refused();
}
