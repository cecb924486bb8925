package dev.sluice.bench.stages;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Requests that come while an insert is under way share the next one, and are answered when it is
 * done: nobody waits for a clock. The bound is the number of senders, who wait.
 */
final class CoalescedInserts implements StagePipeline {
  private final InsertClient insertClient;

  // guarded by this
  private List<Rows> batch = new ArrayList<>();
  private CompletableFuture<Void> answer = new CompletableFuture<>();
  private boolean inFlight;

  CoalescedInserts(InsertClient insertClient) {
    this.insertClient = insertClient;
  }

  @Override
  public synchronized CompletionStage<?> submit(Rows rows) {
    batch.add(rows);
    var shared = answer;
    if (!inFlight) {
      send();
    }
    return shared;
  }

  private synchronized void send() {
    inFlight = !batch.isEmpty();
    if (inFlight) {
      var rows = Rows.merge(batch);
      var shared = answer;
      batch = new ArrayList<>();
      answer = new CompletableFuture<>();
      var _ =
          insertClient.insert(rows).whenComplete((_, failed) -> onInsertComplete(shared, failed));
    }
  }

  private void onInsertComplete(CompletableFuture<Void> shared, @Nullable Throwable failed) {
    send(); // first, so that ClickHouse does not wait for the answers
    if (failed == null) {
      shared.complete(null);
    } else {
      shared.completeExceptionally(failed);
    }
  }
}
