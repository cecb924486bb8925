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
final class SharedInserts implements Way {
  private final Inserts inserts;

  // guarded by this
  private List<Rows> gathered = new ArrayList<>();
  private CompletableFuture<Void> answer = new CompletableFuture<>();
  private boolean underWay;

  SharedInserts(Inserts inserts) {
    this.inserts = inserts;
  }

  @Override
  public synchronized CompletionStage<?> take(Rows rows) {
    gathered.add(rows);
    var shared = answer;
    if (!underWay) {
      send();
    }
    return shared;
  }

  private synchronized void send() {
    underWay = !gathered.isEmpty();
    if (underWay) {
      var rows = Rows.together(gathered);
      var shared = answer;
      gathered = new ArrayList<>();
      answer = new CompletableFuture<>();
      var _ = inserts.insert(rows).whenComplete((_, failed) -> ended(shared, failed));
    }
  }

  private void ended(CompletableFuture<Void> shared, @Nullable Throwable failed) {
    send(); // first, so that ClickHouse does not wait for the answers
    if (failed == null) {
      shared.complete(null);
    } else {
      shared.completeExceptionally(failed);
    }
  }
}
