package dev.sluice.bench.stages;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * A pipeline in which requests that arrive during an insert share the next insert and are completed
 * with it. There is no timer. The number of waiting senders bounds the batch.
 */
final class CoalescedInserts implements StagePipeline {
  private final InsertClient insertClient;

  // guarded by this
  private List<Rows> batch = new ArrayList<>();
  private CompletableFuture<Void> response = new CompletableFuture<>();
  private boolean inFlight;

  CoalescedInserts(InsertClient insertClient) {
    this.insertClient = insertClient;
  }

  @Override
  public synchronized CompletionStage<?> submit(Rows rows) {
    batch.add(rows);
    var shared = response;
    if (!inFlight) {
      send();
    }
    return shared;
  }

  private synchronized void send() {
    inFlight = !batch.isEmpty();
    if (inFlight) {
      var rows = Rows.merge(batch);
      var shared = response;
      batch = new ArrayList<>();
      response = new CompletableFuture<>();
      var _ =
          insertClient.insert(rows).whenComplete((_, failed) -> onInsertComplete(shared, failed));
    }
  }

  private void onInsertComplete(CompletableFuture<Void> shared, @Nullable Throwable failed) {
    send(); // before the responses, so that ClickHouse does not wait for them
    if (failed == null) {
      shared.complete(null);
    } else {
      shared.completeExceptionally(failed);
    }
  }
}
