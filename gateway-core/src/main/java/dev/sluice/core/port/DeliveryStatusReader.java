package dev.sluice.core.port;

import dev.sluice.core.port.Spool.Receipt;
import java.util.concurrent.CompletionStage;

/**
 * The delivery status of appended records. A request of level stored is answered when its records
 * are delivered. Thread-safe.
 */
@FunctionalInterface
public interface DeliveryStatusReader {

  /**
   * Queries once whether an appended entry is delivered. Does not block the calling thread.
   *
   * @param receipt the receipt of the entry
   */
  CompletionStage<DeliveryStatus> statusOf(Receipt receipt);

  /** The delivery status of appended records. */
  sealed interface DeliveryStatus {
    /** The records are still in the spool. */
    record Pending() implements DeliveryStatus {}

    /**
     * The delivery of the records is acknowledged: each record is stored or is in the {@link
     * DeadLetterStore}.
     */
    record Delivered() implements DeliveryStatus {}

    /** The spool cannot determine the status. */
    record Unknown(String reason) implements DeliveryStatus {}
  }
}
