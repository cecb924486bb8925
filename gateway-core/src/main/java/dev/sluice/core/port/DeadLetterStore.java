package dev.sluice.core.port;

import dev.sluice.core.domain.DeadLetter;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.SpoolConsumer.Delivery;
import java.time.LocalDate;
import java.util.List;
import java.util.Optional;
import java.util.SortedMap;
import org.jspecify.annotations.Nullable;

/**
 * The table of the records that the {@link LogStore} rejected; an operator inspects, replays or
 * purges them. The id of a dead letter is the id of its log.
 *
 * <p>A dead letter is open until it is purged or its replay is complete. Then it stays in the
 * table, without its record, so that the ledger counts it.
 *
 * <p>Thread-safe. All methods block. A method without a {@link WriteResult} throws a {@code
 * RuntimeException} when the table is unavailable; a repetition is safe.
 */
public interface DeadLetterStore {

  /**
   * Writes the dead letters of a delivery, before its acknowledgement. A repeated write of the same
   * delivery changes nothing, not even after an operator has replayed or purged a dead letter.
   *
   * <p>For a redelivery, it also completes the replay of every other record of the delivery that is
   * an open dead letter, of an earlier attempt or of a replay: the log store has that record now.
   *
   * @param delivery a delivery whose records are all stored or in {@code deadLetters}
   */
  WriteResult write(Delivery delivery, List<DeadLetter> deadLetters) throws InterruptedException;

  /**
   * Writes dead letters that an earlier release kept in the spool. A repeated write changes
   * nothing.
   */
  WriteResult adopt(List<DeadLetter> deadLetters) throws InterruptedException;

  /**
   * Lists open dead letters in the order of their ids, which is about the order of their receipt.
   *
   * @param after the id after which the list begins; null to begin with the lowest
   * @param limit the maximum number of dead letters, at least 1
   */
  List<DeadLetterItem> list(@Nullable LogId after, int limit);

  /** Returns the open dead letter with this id; empty when there is none. */
  Optional<DeadLetterItem> find(LogId id);

  /**
   * Records that the replay of a dead letter starts, before its record is appended to the spool.
   *
   * @param deadLetter the dead letter that {@link #find} has returned, with the record that is
   *     appended
   */
  void startReplay(DeadLetter deadLetter);

  /** Completes a replay that has started. Does nothing when none has. */
  void completeReplay(LogId id);

  /**
   * Purges a dead letter whose replay has not started. A concurrent replay prevails.
   *
   * @return whether there is such a dead letter
   */
  boolean purge(LogId id);

  /**
   * Returns the ids of the dead letters, open or purged, from {@code first} to {@code last}, both
   * inclusive: the records that the log store does not have.
   */
  List<LogId> findBetween(LogId first, LogId last);

  /** Returns the counts by receive day (UTC), for each day since {@code from} that has any. */
  SortedMap<LocalDate, DeadLetterCounts> counts(LocalDate from);

  /** Returns the counts of all days together. */
  default DeadLetterCounts counts() {
    return counts(LocalDate.EPOCH).values().stream()
        .reduce(DeadLetterCounts.NONE, DeadLetterCounts::plus);
  }

  /**
   * An open dead letter.
   *
   * @param letter the dead letter; the append id of its log is that of its next replay
   * @param replayStarted whether a replay has started and is not known to be complete
   */
  record DeadLetterItem(DeadLetter letter, boolean replayStarted) {}

  /**
   * The number of dead letters by state. A dead letter whose replay is complete is in none: its
   * record is in the spool, stored, or a new dead letter.
   *
   * @param deadLettered open dead letters whose replay has not started
   * @param replaying open dead letters whose replay has started: the record may be in the spool or
   *     in the log store too
   * @param purged purged dead letters
   */
  record DeadLetterCounts(long deadLettered, long replaying, long purged) {
    public static final DeadLetterCounts NONE = new DeadLetterCounts(0, 0, 0);

    public DeadLetterCounts plus(DeadLetterCounts other) {
      return new DeadLetterCounts(
          deadLettered + other.deadLettered, replaying + other.replaying, purged + other.purged);
    }

    /** Returns the number of open dead letters. */
    public long open() {
      return deadLettered + replaying;
    }
  }
}
