package dev.sluice.core.port;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import java.time.Duration;
import java.time.LocalDate;
import java.util.Optional;
import java.util.SortedMap;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Durable waiting room between receiving logs and storing them.
 *
 * <p>Safe for use by many threads.
 */
public interface Spool {

  /**
   * Appends one batch, and once: an append whose outcome is not known is tried again under the
   * batch's own {@link LogBatch#appendId}, which the spool remembers. The stage completes only once
   * the batch would survive the loss of this process; clients are answered from that signal alone.
   * Being full or out of reach is an answer, {@link AppendResult.Unavailable}, not an exception.
   * Does not block the calling thread.
   */
  CompletionStage<AppendResult> append(LogBatch batch, AppendMode mode);

  /** As above, for a client that waits. */
  default CompletionStage<AppendResult> append(LogBatch batch) {
    return append(batch, AppendMode.SYNC);
  }

  /**
   * What became of records that were appended; asks the spool once, without blocking the calling
   * thread.
   *
   * @param firstId identity of the first of them
   * @param records how many, with consecutive identities, all of the entry of {@code receipt}
   */
  CompletionStage<DeliveryStatus> statusOf(Receipt receipt, LogId firstId, int records);

  /**
   * How the spool is, asked now, within a second or so. A spool out of reach is part of the answer:
   * the stage does not fail. Does not block the calling thread.
   */
  CompletionStage<SpoolStatus> spoolStatus();

  /**
   * The spool's side of the ledger by the day of receipt (UTC), for the days from {@code from} on
   * that have any; blocking.
   *
   * @throws RuntimeException when the spool is out of reach
   */
  SortedMap<LocalDate, RecordCounts> recordCounts(LocalDate from);

  /**
   * The first day from whose beginning on every acceptance is counted by day, as far as the spool
   * knows; a day still to come when it has counted but a part of today. It is later than the first
   * logs where an older release did not count by day, or the spool was replaced. Blocking.
   *
   * @throws RuntimeException when the spool is out of reach
   */
  default LocalDate countsCompleteSince() {
    return LocalDate.EPOCH;
  }

  /** All days together; blocking. */
  default RecordCounts recordCounts() {
    return recordCounts(LocalDate.EPOCH).values().stream()
        .reduce(RecordCounts.NONE, RecordCounts::plus);
  }

  /** Why no durable append is possible at the moment; empty when it is. Blocks. */
  default Optional<String> unavailableReason() {
    return Optional.ofNullable(spoolStatus().toCompletableFuture().join().unavailableReason());
  }

  /** How a batch is to be appended. */
  enum AppendMode {
    /** A client waits for it. */
    SYNC,

    /** Nobody waits: it may lie in memory for a while, so that many share one write. */
    LAZY,

    /**
     * It may have been appended elsewhere before, or even be stored: whoever delivers it looks
     * first.
     */
    POSSIBLE_DUPLICATE
  }

  /** What became of one {@link #append}. */
  sealed interface AppendResult {
    /** Safe. */
    record Accepted(Receipt receipt) implements AppendResult {}

    /**
     * Not taken, or not known to be taken.
     *
     * @param retryAfter when trying again is worth it
     * @param reason for the operator, without any log's content
     * @param outcomeUnknown whether it may be in another spool than the one that is asked next:
     *     whoever appends the batch again does so as {@link AppendMode#POSSIBLE_DUPLICATE}
     */
    record Unavailable(Duration retryAfter, String reason, boolean outcomeUnknown)
        implements AppendResult {
      /** It is in no other spool. */
      public Unavailable(Duration retryAfter, String reason) {
        this(retryAfter, reason, false);
      }
    }

    /** Not taken: the claim under which it came is no longer its own. */
    record ClaimLost() implements AppendResult {}
  }

  /**
   * Where an entry was appended.
   *
   * @param shard from 0
   * @param entryId the entry's own name, in the spool's words
   */
  record Receipt(int shard, String entryId) {}

  /** What is known of appended records. */
  sealed interface DeliveryStatus {
    /** Still in the spool. */
    record Pending() implements DeliveryStatus {}

    /** Settled: all stored but for those that are dead letters. */
    record Delivered(int deadLettered) implements DeliveryStatus {}

    /** The spool cannot say. */
    record Unknown(String reason) implements DeliveryStatus {}
  }

  /**
   * @param outageReason why nothing can be appended at the moment; null when it can
   * @param notDurableReason why what is appended might be lost with the spool; null when it is safe
   * @param pendingRecords records appended and not settled, about
   * @param deliveredRecords records settled over the life of the spool, from which a rate can be
   *     made
   */
  record SpoolStatus(
      @Nullable String outageReason,
      @Nullable String notDurableReason,
      long pendingRecords,
      long deliveredRecords) {

    /** Why no durable append is possible; null when it is. */
    public @Nullable String unavailableReason() {
      return outageReason != null ? outageReason : notDurableReason;
    }
  }

  /**
   * Counts of log records of one day, across restarts; each is counted where it lives.
   *
   * @param accepted counted in the atomic step that appends
   * @param inFlight counted from the entries that are there
   * @param deadLettered counted from the dead letters that are there
   * @param purged dead letters that a person threw away, counted in the step that did
   * @param quarantined in entries that were damaged where they lay and were put aside for somebody
   *     to look at, counted in the step that did
   */
  record RecordCounts(
      long accepted, long inFlight, long deadLettered, long purged, long quarantined) {
    public static final RecordCounts NONE = new RecordCounts(0, 0, 0, 0, 0);

    public RecordCounts plus(RecordCounts other) {
      return new RecordCounts(
          accepted + other.accepted,
          inFlight + other.inFlight,
          deadLettered + other.deadLettered,
          purged + other.purged,
          quarantined + other.quarantined);
    }
  }
}
