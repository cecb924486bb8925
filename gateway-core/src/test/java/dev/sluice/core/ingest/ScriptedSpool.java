package dev.sluice.core.ingest;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.Spool;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
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
      answer.complete(new Appended.Accepted());
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
    answer(append).complete(new Appended.Accepted());
  }

  @Override
  public Optional<String> unavailable() {
    return Optional.empty();
  }

  @Override
  public Tally tally() {
    return new Tally(0, 0);
  }
}
