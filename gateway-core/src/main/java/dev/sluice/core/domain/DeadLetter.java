package dev.sluice.core.domain;

import static java.util.Objects.requireNonNull;

import java.time.Instant;

/**
 * A record that the store will not take.
 *
 * @param log the record alone, with its identity and receipt as they were
 * @param reason the store's, without any of the log's content
 * @param deadLetteredAt when it was given up
 */
public record DeadLetter(LogBatch log, String reason, Instant deadLetteredAt) {
  public DeadLetter {
    requireNonNull(reason, "reason");
    requireNonNull(deadLetteredAt, "at");
    if (log.records() != 1) {
      throw new IllegalArgumentException("a dead letter of " + log.records() + " records");
    }
  }
}
