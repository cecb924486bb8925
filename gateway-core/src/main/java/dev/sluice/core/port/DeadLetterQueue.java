package dev.sluice.core.port;

import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogBatch;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * Records that the store refuses, kept until a person has looked at them. They are added by {@link
 * SpoolConsumer#ack}, in the step that settles the delivery they came with.
 *
 * <p>Safe for use by many threads; all methods block, and throw when the spool is out of reach.
 */
public interface DeadLetterQueue {

  /**
   * Oldest first.
   *
   * @param after id of the letter after which to begin; null for the oldest
   * @param limit letters at most, from 1
   * @throws IllegalArgumentException when {@code after} has not the form of an id
   */
  List<DeadLetterItem> list(@Nullable String after, int limit);

  /** One of them; empty when there is none of that id. */
  Optional<DeadLetterItem> find(String id);

  /**
   * Puts a letter's record back into the spool, whole or as a person has corrected it, and removes
   * the letter, in one step.
   *
   * @param log what to append; of one record, with the identity and the receipt of the letter's
   * @return whether there was such a letter
   * @throws IllegalArgumentException when the log is not one record of the letter's identity and
   *     day of receipt; nothing was done
   */
  boolean replay(String id, LogBatch log);

  /** Throws one away and counts it as purged; whether there was such a letter. */
  boolean purge(String id);

  /** How many there are, and how many there may be. */
  Capacity capacity();

  /**
   * @param id unique; increases with the age of the letter
   */
  record DeadLetterItem(String id, DeadLetter letter) {}

  /**
   * @param used that are there
   * @param max after which deliveries with refused records wait
   */
  record Capacity(long used, long max) {}
}
