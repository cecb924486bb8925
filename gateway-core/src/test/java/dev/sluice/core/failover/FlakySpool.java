package dev.sluice.core.failover;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.AppendResolver;
import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.DailyCounts;
import dev.sluice.core.port.DeliveryStatusReader;
import dev.sluice.core.port.FallbackCounts;
import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.Spool;
import dev.sluice.testkit.InMemorySpool;
import java.time.Duration;
import java.time.LocalDate;
import java.util.SortedMap;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/** A spool that delegates to another and fails as the test configures. */
final class FlakySpool
    implements Spool,
        IdempotencyStore,
        DeliveryStatusReader,
        DailyCounts,
        Backlog,
        AppendResolver,
        FallbackCounts {
  enum Behavior {
    HEALTHY,
    /** Reports that it is unavailable. */
    UNAVAILABLE,
    /** Does nothing and never responds. */
    UNRESPONSIVE,
    /** Executes the request and never responds. */
    RESPONSE_LOST,
    /** Executes the request when {@link #delayedRelease} completes. */
    DELAYED,
    THROWING
  }

  /** The spool behind it; a test replaces it by an empty one when the primary loses its data. */
  volatile InMemorySpool spool;

  final AtomicInteger calls = new AtomicInteger();
  final AtomicInteger resolves = new AtomicInteger();

  /** Completing this future releases delayed requests. */
  final CompletableFuture<Void> delayedRelease = new CompletableFuture<>();

  volatile boolean failsToCompleteKeys;
  volatile Supplier<Behavior> behavior = () -> Behavior.HEALTHY;

  FlakySpool(InMemorySpool spool) {
    this.spool = spool;
  }

  void setBehavior(Behavior next) {
    behavior = () -> next;
  }

  private <T> CompletionStage<T> respond(T unavailable, Supplier<CompletionStage<T>> step) {
    return switch (behavior.get()) {
      case HEALTHY -> step.get();
      case UNAVAILABLE -> CompletableFuture.completedStage(unavailable);
      case UNRESPONSIVE -> new CompletableFuture<>();
      case RESPONSE_LOST -> {
        var _ = step.get();
        yield new CompletableFuture<>();
      }
      case DELAYED -> delayedRelease.thenCompose(_ -> step.get());
      case THROWING -> throw new IllegalStateException("no stage is returned");
    };
  }

  private static AppendResult unavailableResult() {
    return new AppendResult.Unavailable(Duration.ofSeconds(7), "primary is full");
  }

  @Override
  public CompletionStage<AppendResult> append(LogBatch batch, AppendMode appendMode) {
    calls.incrementAndGet();
    return respond(unavailableResult(), () -> spool.append(batch, appendMode));
  }

  @Override
  public CompletionStage<AppendResult> append(LogBatch batch, Claim claim, AppendMode appendMode) {
    calls.incrementAndGet();
    return respond(unavailableResult(), () -> spool.append(batch, claim, appendMode));
  }

  @Override
  public CompletionStage<ClaimResult> claim(IdempotencyKey key) {
    calls.incrementAndGet();
    return respond(
        new ClaimResult.Unavailable(Duration.ofSeconds(7), "primary is full"),
        () -> spool.claim(key));
  }

  @Override
  public CompletionStage<ResolveResult> resolve(UUID appendId) {
    resolves.incrementAndGet();
    return respond(new ResolveResult.Undecided(), () -> spool.resolve(appendId));
  }

  @Override
  public CompletionStage<ClaimResult> completeKey(UsedKey key) {
    if (failsToCompleteKeys) {
      return CompletableFuture.completedStage(
          new ClaimResult.Unavailable(Duration.ofSeconds(7), "the key cannot be read"));
    }
    return respond(
        new ClaimResult.Unavailable(Duration.ofSeconds(7), "primary is full"),
        () -> spool.completeKey(key));
  }

  @Override
  public CompletionStage<Void> publish(String node, SortedMap<LocalDate, RecordCounts> counts) {
    return behavior.get() == Behavior.HEALTHY
        ? spool.publish(node, counts)
        : new CompletableFuture<>();
  }

  @Override
  public SortedMap<LocalDate, RecordCounts> countsOfOtherNodes(String node, LocalDate from) {
    return spool.countsOfOtherNodes(node, from);
  }

  @Override
  public CompletionStage<Void> release(Claim claim) {
    return behavior.get() == Behavior.HEALTHY ? spool.release(claim) : new CompletableFuture<>();
  }

  @Override
  public CompletionStage<DeliveryStatus> statusOf(Receipt receipt) {
    return spool.statusOf(receipt);
  }

  @Override
  public CompletionStage<SpoolStatus> status() {
    return respond(new SpoolStatus("primary is full", null, 0, 0), spool::status);
  }

  @Override
  public SortedMap<LocalDate, RecordCounts> recordCounts(LocalDate from) {
    return spool.recordCounts(from);
  }

  @Override
  public Depth depth() {
    return spool.depth();
  }
}
