package dev.sluice.core.failover;

import dev.sluice.core.port.AppendResolver;
import dev.sluice.core.port.AppendResolver.ResolveResult;
import dev.sluice.core.port.DeliveryStatusReader;
import dev.sluice.core.port.DeliveryStatusReader.DeliveryStatus;
import dev.sluice.core.port.FallbackDuplicateCheck;
import dev.sluice.core.port.Scheduler;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The duplicate check of the fallback: asks the primary while the circuit breaker is closed. A call
 * starts a query, and a later call returns its result, so that the primary never delays the
 * delivery of other batches. Few queries run at a time, and a batch without a decision is asked for
 * again after a delay that grows.
 *
 * <p>The fallback keeps its copy of a batch until the primary has delivered the batch. So a receipt
 * of the fallback has the right delivery status. Each query begins with the append id, because a
 * primary that has lost a batch reports its entry as delivered once newer entries are.
 *
 * <p>For use by one thread, that of the fallback's consumer.
 */
final class DuplicateResolver implements FallbackDuplicateCheck {
  /** The limit keeps the queue of the primary's connection short. */
  private static final int MAX_QUERIES = 16;

  private static final Duration MIN_DELAY = Duration.ofSeconds(1);
  private static final Duration MAX_DELAY = Duration.ofSeconds(16);

  /**
   * A query of the primary.
   *
   * @param status completes with the status, an unknown one after the delay
   * @param delay the delay after an unknown status
   */
  private record Query(CompletableFuture<DuplicateStatus> status, Duration delay) {}

  private final DeliveryStatusReader primary;
  private final AppendResolver resolver;
  private final CircuitBreaker breaker;
  private final Scheduler scheduler;
  private final AtomicInteger running = new AtomicInteger();

  /** The latest query of each batch without a decision, by append id. */
  private final Map<UUID, Query> queries = new HashMap<>();

  DuplicateResolver(
      DeliveryStatusReader primary,
      AppendResolver resolver,
      CircuitBreaker breaker,
      Scheduler scheduler) {
    this.primary = primary;
    this.resolver = resolver;
    this.breaker = breaker;
    this.scheduler = scheduler;
  }

  @Override
  public DuplicateStatus check(UUID appendId) {
    var query = queries.get(appendId);
    if (query == null || isUnknown(query)) {
      query = start(appendId, query);
    }
    if (query == null || !query.status().isDone() || isUnknown(query)) {
      return DuplicateStatus.UNKNOWN;
    }
    queries.remove(appendId);
    return query.status().join();
  }

  private static boolean isUnknown(Query query) {
    return query.status().getNow(DuplicateStatus.DELIVERED) == DuplicateStatus.UNKNOWN;
  }

  /** Starts a query; returns null when none can start now. */
  private @Nullable Query start(UUID appendId, @Nullable Query previous) {
    if (!breaker.isClosed() || running.get() >= MAX_QUERIES) {
      return null;
    }
    running.incrementAndGet();
    var delay = previous == null ? MIN_DELAY : min(previous.delay().multipliedBy(2), MAX_DELAY);
    var status =
        breaker
            .withTimeout(() -> query(appendId))
            .exceptionally(_ -> DuplicateStatus.UNKNOWN)
            .whenComplete((_, _) -> running.decrementAndGet())
            .thenCompose(
                result ->
                    result == DuplicateStatus.UNKNOWN
                        ? unknownAfter(delay)
                        : CompletableFuture.completedFuture(result));
    var query = new Query(status, delay);
    queries.put(appendId, query);
    return query;
  }

  private static Duration min(Duration one, Duration other) {
    return one.compareTo(other) < 0 ? one : other;
  }

  private CompletableFuture<DuplicateStatus> unknownAfter(Duration delay) {
    var status = new CompletableFuture<DuplicateStatus>();
    try {
      scheduler.schedule(delay, () -> status.complete(DuplicateStatus.UNKNOWN));
    } catch (RuntimeException _) {
      // the scheduler is shutting down: the batch is resolved after the next start
    }
    return status;
  }

  private CompletionStage<DuplicateStatus> query(UUID appendId) {
    return resolver
        .resolve(appendId)
        .thenCompose(
            result ->
                switch (result) {
                  case ResolveResult.Known(var receipt) ->
                      primary.statusOf(receipt).thenApply(DuplicateResolver::toDuplicateStatus);
                  case ResolveResult.Refused() ->
                      CompletableFuture.completedStage(DuplicateStatus.UNIQUE);
                  case ResolveResult.Undecided() ->
                      CompletableFuture.completedStage(DuplicateStatus.UNKNOWN);
                });
  }

  private static DuplicateStatus toDuplicateStatus(DeliveryStatus status) {
    return status instanceof DeliveryStatus.Delivered
        ? DuplicateStatus.DELIVERED
        : DuplicateStatus.UNKNOWN;
  }
}
