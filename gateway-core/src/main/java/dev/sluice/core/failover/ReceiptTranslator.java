package dev.sluice.core.failover;

import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.DeliveryStatus;
import dev.sluice.core.port.Spool.Receipt;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Distinguishes the receipts of the two spools and tracks batches that were drained from the
 * fallback to the primary.
 *
 * <p>A receipt of the fallback has a negative shard, and an entry id of three parts: the append id,
 * the number of moves that had been evicted from memory, and the fallback's own entry id. A batch
 * that is no longer in the fallback was either delivered or drained to the primary. If its move may
 * have been evicted since, its status is {@link DeliveryStatus.Unknown}. Safe for use by many
 * threads.
 */
final class ReceiptTranslator {
  private static final int MAX_MOVED = 10_000;

  private final Spool primary;
  private final String primaryName;
  private final Spool fallback;

  /** Receipts in the primary of drained batches, by append id. Guarded by this. */
  private final LruMap<UUID, Receipt> moved = new LruMap<>(MAX_MOVED);

  ReceiptTranslator(FailoverSpool.SpoolTarget primary, FailoverSpool.SpoolTarget fallback) {
    this.primary = primary.spool();
    this.primaryName = primary.name();
    this.fallback = fallback.spool();
  }

  /** Returns the receipt of a batch in the fallback in its external form. */
  synchronized Receipt toExternal(UUID appendId, Receipt receipt) {
    return new Receipt(
        -1 - receipt.shard(), appendId + "/" + moved.evicted() + "/" + receipt.entryId());
  }

  /** Records the drained batch. Must be called before the batch is acked in the fallback. */
  synchronized void recordMoved(UUID appendId, Receipt primaryReceipt) {
    moved.put(appendId, primaryReceipt);
  }

  private synchronized @Nullable Receipt primaryReceiptOf(UUID appendId) {
    return moved.get(appendId);
  }

  private synchronized boolean hasEvictedSince(long evicted) {
    return moved.evicted() > evicted;
  }

  /** Returns the delivery status from the spool that has the batch. */
  CompletionStage<DeliveryStatus> statusOf(Receipt receipt) {
    if (receipt.shard() >= 0) {
      return primary.statusOf(receipt);
    }
    var parts = receipt.entryId().split("/", 3);
    var appendId = UUID.fromString(parts[0]);
    var primaryReceipt = primaryReceiptOf(appendId);
    if (primaryReceipt != null) {
      return primary.statusOf(primaryReceipt);
    }
    long evicted = Long.parseLong(parts[1]);
    return fallback
        .statusOf(new Receipt(-1 - receipt.shard(), parts[2]))
        .thenCompose(
            status -> {
              var movedMeanwhile = primaryReceiptOf(appendId);
              if (movedMeanwhile != null) {
                return primary.statusOf(movedMeanwhile);
              }
              return CompletableFuture.completedStage(
                  status instanceof DeliveryStatus.Delivered && hasEvictedSince(evicted)
                      ? new DeliveryStatus.Unknown("it may have been moved to " + primaryName)
                      : status);
            });
  }
}
