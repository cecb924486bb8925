package dev.sluice.core.domain;

import static java.util.Objects.requireNonNull;

import java.time.Instant;

/**
 * A log record that the store rejected permanently.
 *
 * @param log a batch with only this record, which keeps its id and its receive time; its append id
 *     is that of the next replay
 * @param reason the error of the store, without any content of the record
 * @param code the error code of the store; 0 when it is unknown
 * @param deadLetteredAt the time at which the record became a dead letter
 */
public record DeadLetter(LogBatch log, String reason, int code, Instant deadLetteredAt) {
  public DeadLetter {
    requireNonNull(reason, "reason");
    requireNonNull(deadLetteredAt, "deadLetteredAt");
    if (log.records() != 1) {
      throw new IllegalArgumentException("a dead letter has 1 record, not " + log.records());
    }
  }

  /** Returns how often the record was replayed before it became this dead letter. */
  public int replays() {
    return Math.max(0, ReplayId.replayOf(log.appendId()) - 1);
  }
}
