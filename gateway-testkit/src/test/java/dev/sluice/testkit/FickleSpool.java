package dev.sluice.testkit;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.Spool;
import java.time.Duration;
import java.time.LocalDate;
import java.util.SortedMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/** A spool in front of another, which fails in the way that the test says. */
final class FickleSpool implements Spool, IdempotencyStore {
  enum Mood {
    WELL,
    /** Says that it is in trouble. */
    BUSY,
    /** Does nothing and says nothing. */
    SILENT,
    /** Does everything and says nothing. */
    MUTE,
    /** Does everything once it is told to. */
    LATE,
    THROWING
  }

  final InMemorySpool spool;
  final AtomicInteger asked = new AtomicInteger();

  /** What those wait for that are late. */
  final CompletableFuture<Void> told = new CompletableFuture<>();

  volatile Supplier<Mood> mood = () -> Mood.WELL;

  FickleSpool(InMemorySpool spool) {
    this.spool = spool;
  }

  void be(Mood now) {
    mood = () -> now;
  }

  private <T> CompletionStage<T> answer(T busy, Supplier<CompletionStage<T>> step) {
    return switch (mood.get()) {
      case WELL -> step.get();
      case BUSY -> CompletableFuture.completedStage(busy);
      case SILENT -> new CompletableFuture<>();
      case MUTE -> {
        var _ = step.get();
        yield new CompletableFuture<>();
      }
      case LATE -> told.thenCompose(_ -> step.get());
      case THROWING -> throw new IllegalStateException("not even a stage");
    };
  }

  private static AppendResult busy() {
    return new AppendResult.Unavailable(Duration.ofSeconds(7), "first is full");
  }

  @Override
  public CompletionStage<AppendResult> append(LogBatch batch, AppendMode appendMode) {
    asked.incrementAndGet();
    return answer(busy(), () -> spool.append(batch, appendMode));
  }

  @Override
  public CompletionStage<AppendResult> append(LogBatch batch, Claim claim, AppendMode appendMode) {
    asked.incrementAndGet();
    return answer(busy(), () -> spool.append(batch, claim, appendMode));
  }

  @Override
  public CompletionStage<ClaimResult> claim(IdempotencyKey key) {
    asked.incrementAndGet();
    return answer(
        new ClaimResult.Unavailable(Duration.ofSeconds(7), "first is full"),
        () -> spool.claim(key));
  }

  @Override
  public CompletionStage<Void> release(Claim claim) {
    return mood.get() == Mood.WELL ? spool.release(claim) : new CompletableFuture<>();
  }

  @Override
  public CompletionStage<DeliveryStatus> statusOf(Receipt receipt, LogId first, int records) {
    return spool.statusOf(receipt, first, records);
  }

  @Override
  public CompletionStage<SpoolStatus> spoolStatus() {
    return answer(new SpoolStatus("first is full", null, 0, 0), spool::spoolStatus);
  }

  @Override
  public SortedMap<LocalDate, RecordCounts> recordCounts(LocalDate from) {
    return spool.recordCounts(from);
  }
}
