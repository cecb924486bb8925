package dev.sluice.core.port;

import java.time.Duration;
import java.util.Optional;
import java.util.UUID;

/**
 * {@link SpoolConsumer} of a spool that only stands in for another and gives back what it has.
 *
 * <p>{@link #pollForDrain} is asked by whoever gives back, {@link #pollConfirmed} by whoever
 * delivers what is here while the other spool is away; never both at the same moment. What is said
 * of {@link #poll} here is said of {@code nextToReturn} too.
 */
public interface FallbackSpoolConsumer extends SpoolConsumer {

  /**
   * As {@link #poll}, for whoever gives back, of what is there now.
   *
   * @param limits of what was not handed out before. Small ones: of a delivery that was not wholly
   *     given back, every batch is one by itself from then on
   */
  Optional<Delivery> pollForDrain(DeliveryLimits limits) throws InterruptedException;

  /**
   * As {@link #poll}, of what is certainly nowhere else, and of nothing but that.
   *
   * <p>Passes over batches that were appended as {@link Spool.AppendMode#POSSIBLE_DUPLICATE}, and
   * over the delivery that {@code next} has handed out and that was neither settled nor
   * surrendered: the other spool may have some of it. Both wait for {@code next}, which hands out
   * what was passed over before anything newer, as {@code again}; they do not hold up what is
   * behind them.
   *
   * <p>An unsettled delivery that was handed out here comes first the next time, from here as well
   * as from {@code next}; once {@code next} has handed it out it is certain no longer.
   */
  Optional<Delivery> pollConfirmed(Duration timeout, Duration minLinger)
      throws InterruptedException;

  /**
   * Whether there is an unsettled delivery of {@link #pollConfirmed}, also one from before a
   * restart: the store may still be at it. Any thread.
   */
  boolean hasInFlight();

  /**
   * Never handed out again, since the other spool has all of it now: no longer counted as accepted
   * here.
   */
  void ackDrained(Delivery delivery);

  /** The idempotency key that was taken with a batch of the delivery handed out last. */
  Optional<IdempotencyStore.IdempotencyKey> idempotencyKeyOf(UUID appendId);
}
