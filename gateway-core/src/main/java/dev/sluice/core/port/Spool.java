package dev.sluice.core.port;

import dev.sluice.core.domain.LogBatch;
import java.time.Duration;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * The durable buffer between ingest and delivery. It accepts batches; a {@link SpoolConsumer} reads
 * them for delivery. Further capabilities of a spool are ports of their own: {@link
 * IdempotencyStore}, {@link DeliveryStatusReader}, {@link DailyCounts}, {@link Backlog}.
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

  /**
   * Queries the current status of the spool; completes within about a second. An unreachable spool
   * is a status, so the stage never fails. Does not block the calling thread.
   */
  CompletionStage<SpoolStatus> status();

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

    /**
     * The spool does not have the batch and does not accept it, because a fallback of the spool
     * delivers it, see {@link AppendResolver#resolve}.
     */
    record Refused() implements AppendResult {}

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
}
