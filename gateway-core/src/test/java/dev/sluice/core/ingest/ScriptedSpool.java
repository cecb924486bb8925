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
  private final List<AppendMode> modes = new ArrayList<>();
  private final List<CompletableFuture<AppendResult>> answers = new ArrayList<>();
  private final List<String> statusPolls = new ArrayList<>();
  private DeliveryStatus deliveryStatus = new DeliveryStatus.Pending();
  private CompletableFuture<SpoolStatus> spoolStatus =
      CompletableFuture.completedFuture(new SpoolStatus(null, null, 0, 0));
  private int spoolStatusPolls;
  private boolean throwing;
  private boolean answersImmediately;

  /** From now on appends throw instead of answering. */
  void failFromNowOn() {
    throwing = true;
  }

  /** From now on appends succeed before they return. */
  void answerImmediately() {
    answersImmediately = true;
  }

  @Override
  public synchronized CompletionStage<AppendResult> append(LogBatch batch, AppendMode appendMode) {
    batches.add(batch);
    modes.add(appendMode);
    if (throwing) {
      throw new IllegalStateException("not even a stage");
    }
    var answer = new CompletableFuture<AppendResult>();
    answers.add(answer);
    if (answersImmediately) {
      answer.complete(new AppendResult.Accepted(new Spool.Receipt(0, "1")));
    }
    return answer;
  }

  synchronized List<LogBatch> batches() {
    return List.copyOf(batches);
  }

  /** How each was to be appended. */
  synchronized List<AppendMode> modes() {
    return List.copyOf(modes);
  }

  synchronized CompletableFuture<AppendResult> answer(int append) {
    return answers.get(append);
  }

  void accept(int append) {
    answer(append).complete(new AppendResult.Accepted(new Spool.Receipt(0, "1")));
  }

  /** What is answered to every question from now on. */
  synchronized void setDeliveryStatus(DeliveryStatus now) {
    deliveryStatus = now;
  }

  /** What was asked, in words. */
  synchronized List<String> statusPolls() {
    return List.copyOf(statusPolls);
  }

  /** What is answered to every question from now on. */
  void condition(SpoolStatus now) {
    spoolStatus = CompletableFuture.completedFuture(now);
  }

  /** What is answered to every question from now on, when it is. */
  void condition(CompletableFuture<SpoolStatus> now) {
    spoolStatus = now;
  }

  @Override
  public synchronized CompletionStage<DeliveryStatus> statusOf(
      Receipt receipt, LogId first, int records) {
    statusPolls.add(receipt.entryId() + " " + first.toHex() + " " + records);
    return CompletableFuture.completedFuture(deliveryStatus);
  }

  @Override
  public CompletionStage<SpoolStatus> spoolStatus() {
    spoolStatusPolls++;
    return spoolStatus;
  }

  int spoolStatusPolls() {
    return spoolStatusPolls;
  }

  @Override
  public SortedMap<LocalDate, RecordCounts> recordCounts(LocalDate from) {
    return new TreeMap<>();
  }
}
