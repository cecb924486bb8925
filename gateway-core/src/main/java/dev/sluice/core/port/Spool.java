package dev.sluice.core.port;

import dev.sluice.core.domain.LogBatch;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/**
 * Durable waiting room between receiving logs and storing them.
 *
 * <p>Safe for use by many threads.
 */
public interface Spool {

  /**
   * Appends one batch. The stage completes only once the batch would survive the loss of this
   * process; clients are answered from that signal alone. Being full or out of reach is an answer,
   * {@link Appended.Busy}, not an exception. Does not block the calling thread.
   */
  CompletionStage<Appended> append(LogBatch batch);

  /**
   * Why nothing can be appended at the moment; empty when it can. Asks the spool itself, so it
   * blocks, for a second at most.
   */
  Optional<String> unavailable();

  /** The spool's side of the ledger; blocking. */
  Tally tally();

  /** What became of one {@link #append}. */
  sealed interface Appended {
    /** Safe. */
    record Accepted() implements Appended {}

    /**
     * Not taken, or not known to be taken.
     *
     * @param retryAfter when trying again is worth it
     * @param reason for the operator, without any log's content
     */
    record Busy(Duration retryAfter, String reason) implements Appended {}
  }

  /**
   * Counts of log records over the life of the spool, across restarts.
   *
   * @param accepted counted in the atomic step that appends
   * @param inFlight counted from the entries that are there
   */
  record Tally(long accepted, long inFlight) {}
}
