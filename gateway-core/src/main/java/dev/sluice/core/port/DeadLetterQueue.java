package dev.sluice.core.port;

import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogBatch;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The queue of records that the store rejected; an operator inspects, replays or purges them.
 * {@link SpoolConsumer#ack} adds a dead letter in the step that acknowledges its delivery.
 *
 * <p>Thread-safe. All methods block, and throw when the spool is unreachable.
 */
public interface DeadLetterQueue {

  /**
   * Lists dead letters, oldest first.
   *
   * @param after the id of the dead letter after which the list begins; null to begin with the
   *     oldest
   * @param limit the maximum number of dead letters, at least 1
   * @throws IllegalArgumentException when {@code after} does not have the form of an id
   */
  List<DeadLetterItem> list(@Nullable String after, int limit);

  /** Returns the dead letter with this id; empty when there is none. */
  Optional<DeadLetterItem> find(String id);

  /**
   * Appends the record of a dead letter to the spool, unchanged or corrected by an operator, and
   * removes the dead letter, in one atomic step.
   *
   * @param log a batch of one record, with the id and the receive time of the dead letter
   * @return whether a dead letter has this id
   * @throws IllegalArgumentException when the batch is not one record with the id and the receive
   *     day of the dead letter; nothing has changed then
   */
  boolean replay(String id, LogBatch log);

  /**
   * Deletes a dead letter and counts it as purged.
   *
   * @return whether a dead letter has this id
   */
  boolean purge(String id);

  /** Returns the number of dead letters and its maximum. */
  Capacity capacity();

  /**
   * A dead letter and its id.
   *
   * @param id the unique id; a newer dead letter has a greater id
   */
  record DeadLetterItem(String id, DeadLetter letter) {}

  /**
   * The capacity of the queue.
   *
   * @param used the number of dead letters in the queue
   * @param max the maximum number; when it is reached, deliveries with rejected records wait
   */
  record Capacity(long used, long max) {}
}
