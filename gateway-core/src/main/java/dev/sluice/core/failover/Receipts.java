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
final class Receipts {
  private static final int MOST = 10_000;

  private final Spool first;
  private final String firstName;
  private final Spool second;

  /** Guarded by this. */
  private final Latest<UUID, Receipt> moved = new Latest<>(MOST);

  Receipts(Failover.Side first, Failover.Side second) {
    this.first = first.spool();
    this.firstName = first.name();
    this.second = second.spool();
  }

  /** The second's receipt, as others see it. */
  synchronized Receipt ofSecond(UUID appendId, Receipt receipt) {
    return new Receipt(
        -1 - receipt.shard(), appendId + "/" + moved.evicted() + "/" + receipt.entryId());
  }

  /** Call before the second lets go of it. */
  synchronized void moved(UUID appendId, Receipt inFirst) {
    moved.put(appendId, inFirst);
  }

  private synchronized @Nullable Receipt movedTo(UUID appendId) {
    return moved.get(appendId);
  }

  private synchronized boolean forgotten(long evicted) {
    return moved.evicted() > evicted;
  }

  CompletionStage<DeliveryStatus> fate(Receipt receipt, LogId firstId, int records) {
    if (receipt.shard() >= 0) {
      return first.statusOf(receipt, firstId, records);
    }
    var parts = receipt.entryId().split("/", 3);
    var appendId = UUID.fromString(parts[0]);
    var now = movedTo(appendId);
    if (now != null) {
      return first.statusOf(now, firstId, records);
    }
    long evicted = Long.parseLong(parts[1]);
    return second
        .statusOf(new Receipt(-1 - receipt.shard(), parts[2]), firstId, records)
        .thenCompose(
            fate -> {
              var meanwhile = movedTo(appendId);
              if (meanwhile != null) {
                return first.statusOf(meanwhile, firstId, records);
              }
              return CompletableFuture.completedStage(
                  fate instanceof DeliveryStatus.Delivered && forgotten(evicted)
                      ? new DeliveryStatus.Unknown("it may have been given back to " + firstName)
                      : fate);
            });
  }
}
