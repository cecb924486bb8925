package dev.sluice.core.port;

import java.util.UUID;

/**
 * A check of the batches that a fallback spool has accepted as {@link
 * Spool.AppendMode#POSSIBLE_DUPLICATE}: whether the primary spool has them too. The consumer of the
 * fallback calls it before it delivers such a batch.
 */
@FunctionalInterface
public interface FallbackDuplicateCheck {

  /** Returns the status of the batch, as far as it is known by now. Does not block. */
  DuplicateStatus check(UUID appendId);

  /** The status of a batch that may be in the primary spool too. */
  enum DuplicateStatus {
    /** The primary spool does not deliver the batch: the fallback does. */
    UNIQUE,

    /** The primary spool has delivered the batch: the fallback drops its copy. */
    DELIVERED,

    /** The primary spool has the batch and has not delivered it, or has not responded yet. */
    UNKNOWN
  }
}
