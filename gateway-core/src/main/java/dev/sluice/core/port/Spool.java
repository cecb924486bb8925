package dev.sluice.core.port;

import dev.sluice.core.domain.LogBatch;
import java.time.Duration;
import java.time.LocalDate;
import java.util.Optional;
import java.util.SortedMap;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The durable buffer between ingest and delivery. It accepts batches; a {@link SpoolConsumer} reads
 * them and delivers them to the {@link LogStore}.
 *
 * <p>Thread-safe.
 */
public interface Spool {

  /**
   * Appends one batch exactly once: after an unknown outcome the spool repeats the append under the
   * same {@link LogBatch#appendId} and recognizes an id that it already has. The stage completes
   * with {@link AppendResult.Accepted} only when the batch survives the loss of this process; a
   * durable response to the client depends on this stage alone. A full or unreachable spool is a
   * result, {@link AppendResult.Unavailable}, not an exception. Does not block the calling thread.
   */
  CompletionStage<AppendResult> append(LogBatch batch, AppendMode mode);

  /** Appends one batch in mode {@link AppendMode#SYNC}. */
  default CompletionStage<AppendResult> append(LogBatch batch) {
    return append(batch, AppendMode.SYNC);
  }

  /**
   * Queries once whether an appended entry is delivered. Does not block the calling thread.
   *
   * @param receipt the receipt of the entry
   */
  CompletionStage<DeliveryStatus> statusOf(Receipt receipt);

  /**
   * Queries the current status of the spool; completes within about a second. An unreachable spool
   * is a status, so the stage never fails. Does not block the calling thread.
   */
  CompletionStage<SpoolStatus> spoolStatus();

  /**
   * Returns the record counts of the spool by receive day (UTC), for each day since {@code from}
   * that has any. The ledger compares them with the counts of the store. Blocks.
   *
   * @throws RuntimeException when the spool is unreachable
   */
  SortedMap<LocalDate, RecordCounts> recordCounts(LocalDate from);

  /**
   * Returns the first day since whose beginning the spool counts every accepted record by day, as
   * far as the spool knows; a future day when only a part of today is counted. It is later than the
   * day of the first logs when an older release did not count by day, or when the spool was
   * replaced. Blocks.
   *
   * @throws RuntimeException when the spool is unreachable
   */
  default LocalDate countsCompleteSince() {
    return LocalDate.EPOCH;
  }

  /** Returns the record counts of all days together. Blocks. */
  default RecordCounts recordCounts() {
    return recordCounts(LocalDate.EPOCH).values().stream()
        .reduce(RecordCounts.NONE, RecordCounts::plus);
  }

  /** Returns the reason that no durable append is possible now; empty when one is. Blocks. */
  default Optional<String> unavailableReason() {
    return Optional.ofNullable(spoolStatus().toCompletableFuture().join().unavailableReason());
  }

  /** The mode of an append. */
  enum AppendMode {
    /** A client waits for the result, so the batch is written without delay. */
    SYNC,

    /**
     * No client waits: the batch may stay in memory for a short time, so that many batches share
     * one write.
     */
    LAZY,

    /**
     * The batch may already be in another spool, or even in the store. Its delivery checks the
     * store for the records first.
     */
    POSSIBLE_DUPLICATE
  }

  /** The result of one {@link #append}. */
  sealed interface AppendResult {
    /** The spool has the batch. */
    record Accepted(Receipt receipt) implements AppendResult {}

    /**
     * The spool does not have the batch, or the outcome is unknown.
     *
     * @param retryAfter the delay before a retry
     * @param reason the reason for the operator, without any content of the logs
     * @param outcomeUnknown whether the batch may be in a spool other than the one that the retry
     *     reaches; a retry must then use {@link AppendMode#POSSIBLE_DUPLICATE}
     */
    record Unavailable(Duration retryAfter, String reason, boolean outcomeUnknown)
        implements AppendResult {
      /** Creates the result of a batch that is in no other spool. */
      public Unavailable(Duration retryAfter, String reason) {
        this(retryAfter, reason, false);
      }
    }

    /** The spool does not have the batch: another request owns the claim on its key. */
    record ClaimLost() implements AppendResult {}
  }

  /**
   * The position of an appended entry.
   *
   * @param shard the shard, from 0
   * @param entryId the id of the entry, in the format of the spool
   */
  record Receipt(int shard, String entryId) {}

  /** The delivery status of appended records. */
  sealed interface DeliveryStatus {
    /** The records are still in the spool. */
    record Pending() implements DeliveryStatus {}

    /**
     * The delivery of the records is acknowledged: each record is stored or is in the {@link
     * DeadLetterStore}.
     */
    record Delivered() implements DeliveryStatus {}

    /** The spool cannot determine the status. */
    record Unknown(String reason) implements DeliveryStatus {}
  }

  /**
   * The status of the spool.
   *
   * @param outageReason the reason that no append is possible now; null when appends are possible
   * @param notDurableReason the reason that appended records might be lost with the spool; null
   *     when they are durable
   * @param pendingRecords the approximate number of records that are appended and not acknowledged
   * @param deliveredRecords the number of records acknowledged over the life of the spool, from
   *     which callers compute a rate
   */
  record SpoolStatus(
      @Nullable String outageReason,
      @Nullable String notDurableReason,
      long pendingRecords,
      long deliveredRecords) {

    /** Returns the reason that no durable append is possible; null when one is. */
    public @Nullable String unavailableReason() {
      return outageReason != null ? outageReason : notDurableReason;
    }
  }

  /**
   * The log record counts of one day. They survive restarts, and each is counted where its records
   * are.
   *
   * @param accepted accepted records, counted in the atomic step that appends them; a {@linkplain
   *     dev.sluice.core.domain.ReplayId replay} is not accepted a second time
   * @param inFlight records not yet delivered, counted from the entries in the spool; a dead letter
   *     that an earlier release left in the spool is in flight to the dead letter store
   * @param quarantined records of entries that are damaged in the spool and set aside for an
   *     operator, counted in the step that sets them aside
   */
  record RecordCounts(long accepted, long inFlight, long quarantined) {
    public static final RecordCounts NONE = new RecordCounts(0, 0, 0);

    public RecordCounts plus(RecordCounts other) {
      return new RecordCounts(
          accepted + other.accepted, inFlight + other.inFlight, quarantined + other.quarantined);
    }
  }
}
