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
  private final List<Manner> manners = new ArrayList<>();
  private final List<CompletableFuture<Appended>> answers = new ArrayList<>();
  private final List<String> questions = new ArrayList<>();
  private Fate fate = new Fate.Waiting();
  private CompletableFuture<Condition> condition =
      CompletableFuture.completedFuture(new Condition(null, null, 0, 0));
  private int asked;
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
  public synchronized CompletionStage<Appended> append(LogBatch batch, Manner manner) {
    batches.add(batch);
    manners.add(manner);
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

  /** How each was to be appended. */
  synchronized List<Manner> manners() {
    return List.copyOf(manners);
  }

  synchronized CompletableFuture<Appended> answer(int append) {
    return answers.get(append);
  }

  void accept(int append) {
    answer(append).complete(new Appended.Accepted(new Spool.Receipt(0, "1")));
  }

  /** What is answered to every question from now on. */
  synchronized void settle(Fate now) {
    fate = now;
  }

  /** What was asked, in words. */
  synchronized List<String> questions() {
    return List.copyOf(questions);
  }

  /** What is answered to every question from now on. */
  void condition(Condition now) {
    condition = CompletableFuture.completedFuture(now);
  }

  /** What is answered to every question from now on, when it is. */
  void condition(CompletableFuture<Condition> now) {
    condition = now;
  }

  @Override
  public synchronized CompletionStage<Fate> fate(Receipt receipt, LogId first, int records) {
    questions.add(receipt.entry() + " " + first.toHex() + " " + records);
    return CompletableFuture.completedFuture(fate);
  }

  @Override
  public CompletionStage<Condition> condition() {
    asked++;
    return condition;
  }

  int asked() {
    return asked;
  }

  @Override
  public SortedMap<LocalDate, Tally> tally(LocalDate from) {
    return new TreeMap<>();
  }
}
