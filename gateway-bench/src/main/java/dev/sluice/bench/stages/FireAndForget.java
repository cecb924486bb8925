package dev.sluice.bench.stages;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * A pipeline that responds before it inserts and does not report failed inserts. Its queue is
 * bounded, because a sender with an immediate response is faster than any table: above the bound, a
 * request is completed only when its insert is sent.
 */
final class FireAndForget implements StagePipeline {
  private static final int MAX_IN_FLIGHT = 32;
  private static final int MAX_PENDING_LOGS = 10_000;

  private final InsertClient insertClient;

  // guarded by this
  private final Queue<PendingInsert> pending = new ArrayDeque<>();
  private int pendingLogs; // the number of logs in the queue
  private int inFlight;

  FireAndForget(InsertClient insertClient) {
    this.insertClient = insertClient;
  }

  private record PendingInsert(Rows rows, CompletableFuture<Void> response) {}

  @Override
  public synchronized CompletionStage<?> submit(Rows rows) {
    var response = new CompletableFuture<Void>();
    pending.add(new PendingInsert(rows, response));
    pendingLogs += rows.logs();
    if (pendingLogs <= MAX_PENDING_LOGS) {
      response.complete(null);
    }
    send();
    return response;
  }

  private synchronized void send() {
    while (inFlight < MAX_IN_FLIGHT && !pending.isEmpty()) {
      var next = pending.remove();
      pendingLogs -= next.rows.logs();
      inFlight++;
      next.response.complete(null);
      var _ =
          insertClient
              .insert(next.rows)
              .whenComplete((_, failed) -> onInsertComplete(next.rows, failed));
    }
  }

  private void onInsertComplete(Rows rows, @Nullable Throwable failed) {
    if (failed != null) {
      System.err.printf("insert failed; %d logs are lost: %s%n", rows.logs(), failed);
    }
    synchronized (this) {
      inFlight--;
      send();
    }
  }
}
