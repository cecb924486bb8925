package dev.sluice.core.failover;

import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.DeliveryStatus;
import dev.sluice.core.port.Spool.Receipt;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Tells the second spool's receipts from the first's, and knows where what was given back is now.
 *
 * <p>A receipt of the second has a negative shard, and for an entry the append's identity, how many
 * moves were forgotten until then, and the second's own word. What is gone from the second is
 * settled, or was given back: once the latter may have been forgotten, nothing is said. Safe for
 * use by many threads.
 */
final class ReceiptTranslator {
  private static final int MAX_MOVED = 10_000;

  private final Spool primary;
  private final String primaryName;
  private final Spool fallback;

  /** Guarded by this. */
  private final LruMap<UUID, Receipt> moved = new LruMap<>(MAX_MOVED);

  ReceiptTranslator(FailoverSpool.SpoolTarget primary, FailoverSpool.SpoolTarget fallback) {
    this.primary = primary.spool();
    this.primaryName = primary.name();
    this.fallback = fallback.spool();
  }

  /** The second's receipt, as others see it. */
  synchronized Receipt toExternal(UUID appendId, Receipt receipt) {
    return new Receipt(
        -1 - receipt.shard(), appendId + "/" + moved.evicted() + "/" + receipt.entryId());
  }

  /** Call before the second lets go of it. */
  synchronized void recordMoved(UUID appendId, Receipt primaryReceipt) {
    moved.put(appendId, primaryReceipt);
  }

  private synchronized @Nullable Receipt primaryReceiptOf(UUID appendId) {
    return moved.get(appendId);
  }

  private synchronized boolean hasEvictedSince(long evicted) {
    return moved.evicted() > evicted;
  }

  CompletionStage<DeliveryStatus> statusOf(Receipt receipt, LogId firstLogId, int records) {
    if (receipt.shard() >= 0) {
      return primary.statusOf(receipt, firstLogId, records);
    }
    var parts = receipt.entryId().split("/", 3);
    var appendId = UUID.fromString(parts[0]);
    var primaryReceipt = primaryReceiptOf(appendId);
    if (primaryReceipt != null) {
      return primary.statusOf(primaryReceipt, firstLogId, records);
    }
    long evicted = Long.parseLong(parts[1]);
    return fallback
        .statusOf(new Receipt(-1 - receipt.shard(), parts[2]), firstLogId, records)
        .thenCompose(
            status -> {
              var movedMeanwhile = primaryReceiptOf(appendId);
              if (movedMeanwhile != null) {
                return primary.statusOf(movedMeanwhile, firstLogId, records);
              }
              return CompletableFuture.completedStage(
                  status instanceof DeliveryStatus.Delivered && hasEvictedSince(evicted)
                      ? new DeliveryStatus.Unknown("it may have been given back to " + primaryName)
                      : status);
            });
  }
}
