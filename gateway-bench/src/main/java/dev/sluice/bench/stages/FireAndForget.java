package dev.sluice.bench.stages;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Answers first and inserts later; what becomes of the insert nobody learns. What waits here is
 * bounded, since a sender that is answered at once is faster than any table: once it is much, a
 * request is answered when its insert is sent.
 */
final class FireAndForget implements StagePipeline {
  private static final int MAX_IN_FLIGHT = 32;
  private static final int MAX_PENDING_LOGS = 10_000;

  private final InsertClient insertClient;

  // guarded by this
  private final Queue<PendingInsert> pending = new ArrayDeque<>();
  private int pendingLogs; // of what waits
  private int inFlight;

  FireAndForget(InsertClient insertClient) {
    this.insertClient = insertClient;
  }

  private record PendingInsert(Rows rows, CompletableFuture<Void> answer) {}

  @Override
  public synchronized CompletionStage<?> submit(Rows rows) {
    var answer = new CompletableFuture<Void>();
    pending.add(new PendingInsert(rows, answer));
    pendingLogs += rows.logs();
    if (pendingLogs <= MAX_PENDING_LOGS) {
      answer.complete(null);
    }
    send();
    return answer;
  }

  private synchronized void send() {
    while (inFlight < MAX_IN_FLIGHT && !pending.isEmpty()) {
      var next = pending.remove();
      pendingLogs -= next.rows.logs();
      inFlight++;
      next.answer.complete(null);
      var _ =
          insertClient
              .insert(next.rows)
              .whenComplete((_, failed) -> onInsertComplete(next.rows, failed));
    }
  }

  private void onInsertComplete(Rows rows, @Nullable Throwable failed) {
    if (failed != null) {
      System.err.printf("%d logs are lost: %s%n", rows.logs(), failed);
    }
    synchronized (this) {
      inFlight--;
      send();
    }
  }
}
