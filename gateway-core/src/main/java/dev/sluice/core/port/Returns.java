package dev.sluice.core.port;

import java.util.Optional;
import java.util.UUID;

/** {@link Deliveries} of a spool that only stands in for another and gives back what it has. */
public interface Returns extends Deliveries {

  /**
   * Never handed out again, since the other spool has all of it now: no longer counted as accepted
   * here.
   */
  void surrender(Delivery delivery);

  /** The idempotency key that was taken with a batch of the delivery handed out last. */
  Optional<IdempotencyKeys.Key> keyOf(UUID appendId);
}
