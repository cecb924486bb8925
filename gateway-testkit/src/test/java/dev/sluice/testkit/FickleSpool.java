package dev.sluice.testkit;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.IdempotencyKeys;
import dev.sluice.core.port.Spool;
import java.time.Duration;
import java.time.LocalDate;
import java.util.SortedMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;

/** A spool in front of another, which fails in the way that the test says. */
final class FickleSpool implements Spool, IdempotencyKeys {
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

  private static Appended busy() {
    return new Appended.Busy(Duration.ofSeconds(7), "first is full");
  }

  @Override
  public CompletionStage<Appended> append(LogBatch batch, Manner manner) {
    asked.incrementAndGet();
    return answer(busy(), () -> spool.append(batch, manner));
  }

  @Override
  public CompletionStage<Appended> append(LogBatch batch, Claim claim, Manner manner) {
    asked.incrementAndGet();
    return answer(busy(), () -> spool.append(batch, claim, manner));
  }

  @Override
  public CompletionStage<Claimed> claim(Key key) {
    asked.incrementAndGet();
    return answer(new Claimed.Away(Duration.ofSeconds(7), "first is full"), () -> spool.claim(key));
  }

  @Override
  public CompletionStage<Void> release(Claim claim) {
    return mood.get() == Mood.WELL ? spool.release(claim) : new CompletableFuture<>();
  }

  @Override
  public CompletionStage<Fate> fate(Receipt receipt, LogId first, int records) {
    return spool.fate(receipt, first, records);
  }

  @Override
  public CompletionStage<Condition> condition() {
    return answer(new Condition("first is full", null, 0, 0), spool::condition);
  }

  @Override
  public SortedMap<LocalDate, Tally> tally(LocalDate from) {
    return spool.tally(from);
  }
}
