package dev.sluice.core.port;

import dev.sluice.core.domain.LogBatch;
import java.util.List;

/** Long-term home of the logs. Safe for use by many threads. */
public interface LogStore {

  /**
   * Stores all records of the batches; blocks until the store has confirmed them or has not.
   *
   * @param token names this run of batches; the same run comes with the same token when it is tried
   *     again
   */
  Outcome store(String token, List<LogBatch> batches) throws InterruptedException;

  /** Records stored in all; blocking. */
  long stored();

  /** Every implementation sorts its failures into these, so that callers need no vendor codes. */
  sealed interface Outcome {
    /** Confirmed. */
    record Stored() implements Outcome {}

    /** Nothing is wrong with the records; the store is busy, away or in doubt. */
    record TryLater(String reason) implements Outcome {}

    /** The store will not take these records, or not in its present shape. */
    record Refused(String reason) implements Outcome {}
  }
}
