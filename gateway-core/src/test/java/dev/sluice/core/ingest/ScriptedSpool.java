package dev.sluice.core.ingest;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.Spool;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** Remembers every append and leaves it to the test when and how each ends. */
final class ScriptedSpool implements Spool {
  private final List<LogBatch> batches = new ArrayList<>();
  private final List<CompletableFuture<Appended>> answers = new ArrayList<>();
  private boolean throwing;
  private boolean atOnce;

  /** From now on appends throw instead of answering. */
  void throwNow() {
    throwing = true;
  }

  /** From now on appends succeed before they return. */
  void answerAtOnce() {
    atOnce = true;
  }

  @Override
  public synchronized CompletionStage<Appended> append(LogBatch batch) {
    batches.add(batch);
    if (throwing) {
      throw new IllegalStateException("not even a stage");
    }
    var answer = new CompletableFuture<Appended>();
    answers.add(answer);
    if (atOnce) {
      answer.complete(new Appended.Accepted(new Spool.Receipt(0, "1")));
    }
    return answer;
  }

  synchronized List<LogBatch> batches() {
    return List.copyOf(batches);
  }

  synchronized CompletableFuture<Appended> answer(int append) {
    return answers.get(append);
  }

  void accept(int append) {
    answer(append).complete(new Appended.Accepted(new Spool.Receipt(0, "1")));
  }

  @Override
  public CompletionStage<Fate> fate(Receipt receipt, LogId first, int records) {
    return CompletableFuture.completedFuture(new Fate.Waiting());
  }

  @Override
  public CompletionStage<Condition> condition() {
    return CompletableFuture.completedFuture(new Condition(null, null, 0, 0));
  }

  @Override
  public SortedMap<LocalDate, Tally> tally(LocalDate from) {
    return new TreeMap<>();
  }
}
