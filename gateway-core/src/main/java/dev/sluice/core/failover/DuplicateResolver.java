package dev.sluice.core.failover;

import dev.sluice.core.port.AppendResolver;
import dev.sluice.core.port.AppendResolver.ResolveResult;
import dev.sluice.core.port.DeliveryStatusReader;
import dev.sluice.core.port.DeliveryStatusReader.DeliveryStatus;
import dev.sluice.core.port.DuplicateCheck;
import dev.sluice.core.port.Spool.Receipt;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The duplicate check of the fallback: asks the primary while the circuit breaker is closed. A call
 * starts a query, and a later call returns its result, so that the primary never delays the
 * delivery of other batches.
 *
 * <p>The fallback keeps its copy of a batch until the primary has delivered the batch. So a receipt
 * of the fallback has the right delivery status, and the batch survives a primary that loses it.
 *
 * <p>For use by one thread, that of the fallback's consumer.
 */
final class DuplicateResolver implements DuplicateCheck {
  private final DeliveryStatusReader primary;
  private final AppendResolver resolver;
  private final CircuitBreaker breaker;

  /** The queries whose results are not returned yet, by append id. */
  private final Map<UUID, CompletableFuture<DuplicateStatus>> queries = new HashMap<>();

  /** The batches that the primary has and has not delivered, by append id. */
  private final Map<UUID, Receipt> pending = new ConcurrentHashMap<>();

  DuplicateResolver(DeliveryStatusReader primary, AppendResolver resolver, CircuitBreaker breaker) {
    this.primary = primary;
    this.resolver = resolver;
    this.breaker = breaker;
  }

  @Override
  public DuplicateStatus check(UUID appendId) {
    var query = queries.get(appendId);
    if (query == null) {
      if (!breaker.isClosed()) {
        return DuplicateStatus.UNKNOWN;
      }
      query =
          breaker.withTimeout(() -> query(appendId)).exceptionally(_ -> DuplicateStatus.UNKNOWN);
      queries.put(appendId, query);
    }
    if (!query.isDone()) {
      return DuplicateStatus.UNKNOWN;
    }
    queries.remove(appendId);
    return query.join();
  }

  private CompletionStage<DuplicateStatus> query(UUID appendId) {
    var known = pending.get(appendId);
    return known != null
        ? queryDelivery(appendId, known)
        : resolver
            .resolve(appendId)
            .thenCompose(
                result ->
                    switch (result) {
                      case ResolveResult.Known(var receipt) -> queryDelivery(appendId, receipt);
                      case ResolveResult.Refused() ->
                          CompletableFuture.completedStage(DuplicateStatus.UNIQUE);
                      case ResolveResult.Undecided() ->
                          CompletableFuture.completedStage(DuplicateStatus.UNKNOWN);
                    });
  }

  private CompletionStage<DuplicateStatus> queryDelivery(UUID appendId, Receipt receipt) {
    return primary
        .statusOf(receipt)
        .thenApply(
            status -> {
              if (status instanceof DeliveryStatus.Pending) {
                // the primary may forget the append id before the next query
                pending.put(appendId, receipt);
                return DuplicateStatus.UNKNOWN;
              }
              pending.remove(appendId);
              return status instanceof DeliveryStatus.Delivered
                  ? DuplicateStatus.DELIVERED
                  : DuplicateStatus.UNKNOWN; // the primary may have lost it: resolve it again
            });
  }
}
