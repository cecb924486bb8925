package dev.sluice.core.port;

import java.time.Duration;
import java.util.Optional;
import java.util.UUID;

/**
 * The {@link SpoolConsumer} of a fallback spool, whose entries are drained to the primary spool.
 *
 * <p>The drainer calls {@link #pollForDrain} while the primary spool is available. A delivery
 * worker calls {@link #pollConfirmed} while the primary spool is unavailable. The two methods are
 * never called concurrently. Statements about {@link #poll} in this interface apply to {@link
 * #pollForDrain} too.
 */
public interface FallbackSpoolConsumer extends SpoolConsumer {

  /**
   * Returns the oldest delivery to drain, like {@link #poll} but without waiting for entries.
   *
   * @param limits the limits of a new delivery; they should be small, because every batch of a
   *     delivery that was drained only in part becomes a delivery of its own
   */
  Optional<Delivery> pollForDrain(DeliveryLimits limits) throws InterruptedException;

  /**
   * Waits for a delivery, like {@link #poll}, but only of batches that are certainly in no other
   * spool.
   *
   * <p>Skips batches that were appended as {@link Spool.AppendMode#POSSIBLE_DUPLICATE}, and skips
   * the delivery that {@link #poll} returned and that is neither acknowledged nor drained, since
   * the primary spool may have some of its batches. Skipped batches do not block newer ones. They
   * wait for {@link #poll}, which returns them before newer batches, marked as redelivered.
   *
   * <p>An unacknowledged delivery of this method comes first at the next call, of this method or of
   * {@link #poll}. Once {@link #poll} has returned it, this method skips it too.
   */
  Optional<Delivery> pollConfirmed(Duration timeout, Duration minLinger)
      throws InterruptedException;

  /**
   * Whether a delivery of {@link #pollConfirmed} is unacknowledged, including one from before a
   * restart: the store may still be inserting it. Any thread may call it.
   */
  boolean hasInFlight();

  /**
   * Acknowledges a delivery whose batches are all in the primary spool now. It is not returned
   * again, and this spool subtracts its records from its count of accepted records.
   */
  void ackDrained(Delivery delivery);

  /**
   * Returns the idempotency key that was stored with a batch of the most recent delivery; empty
   * when it has none.
   */
  Optional<IdempotencyStore.IdempotencyKey> idempotencyKeyOf(UUID appendId);
}
