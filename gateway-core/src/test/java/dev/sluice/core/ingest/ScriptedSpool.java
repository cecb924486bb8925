package dev.sluice.core.ingest;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.port.DeliveryStatusReader;
import dev.sluice.core.port.Spool;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/** A spool that records all appends; the test completes each with a result. */
final class ScriptedSpool implements Spool, DeliveryStatusReader {
  private final List<LogBatch> batches = new ArrayList<>();
  private final List<AppendMode> modes = new ArrayList<>();
  private final List<CompletableFuture<AppendResult>> appendFutures = new ArrayList<>();
  private final List<String> statusPolls = new ArrayList<>();
  private DeliveryStatus deliveryStatus = new DeliveryStatus.Pending();
  private CompletableFuture<SpoolStatus> spoolStatus =
      CompletableFuture.completedFuture(new SpoolStatus(null, null, 0, 0));
  private int spoolStatusPolls;
  private boolean throwing;
  private boolean completesImmediately;

  /** Makes all following appends throw. */
  void failFromNowOn() {
    throwing = true;
  }

  /** Makes all following appends succeed before they return. */
  void completeImmediately() {
    completesImmediately = true;
  }

  @Override
  public synchronized CompletionStage<AppendResult> append(LogBatch batch, AppendMode appendMode) {
    batches.add(batch);
    modes.add(appendMode);
    if (throwing) {
      throw new IllegalStateException("append throws");
    }
    var future = new CompletableFuture<AppendResult>();
    appendFutures.add(future);
    if (completesImmediately) {
      future.complete(new AppendResult.Accepted(new Spool.Receipt(0, "1")));
    }
    return future;
  }

  synchronized List<LogBatch> batches() {
    return List.copyOf(batches);
  }

  /** Returns the modes of the appends. */
  synchronized List<AppendMode> modes() {
    return List.copyOf(modes);
  }

  synchronized CompletableFuture<AppendResult> appendFuture(int append) {
    return appendFutures.get(append);
  }

  void accept(int append) {
    appendFuture(append).complete(new AppendResult.Accepted(new Spool.Receipt(0, "1")));
  }

  /** Sets the result of all following calls of {@link #statusOf}. */
  synchronized void setDeliveryStatus(DeliveryStatus now) {
    deliveryStatus = now;
  }

  /** Returns the status queries, each as entry id, first log id and number of records. */
  synchronized List<String> statusPolls() {
    return List.copyOf(statusPolls);
  }

  /** Sets the result of all following calls of {@link #status}. */
  void setSpoolStatus(SpoolStatus now) {
    spoolStatus = CompletableFuture.completedFuture(now);
  }

  /** Sets the future that all following calls of {@link #status} return. */
  void setSpoolStatus(CompletableFuture<SpoolStatus> now) {
    spoolStatus = now;
  }

  @Override
  public synchronized CompletionStage<DeliveryStatus> statusOf(Receipt receipt) {
    statusPolls.add(receipt.entryId());
    return CompletableFuture.completedFuture(deliveryStatus);
  }

  @Override
  public CompletionStage<SpoolStatus> status() {
    spoolStatusPolls++;
    return spoolStatus;
  }

  int spoolStatusPolls() {
    return spoolStatusPolls;
  }
}
