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
final class FireAndForget implements Way {
  private static final int AT_ONCE = 32;
  private static final int LOGS = 10_000;

  private final Inserts inserts;

  // guarded by this
  private final Queue<Waiting> waiting = new ArrayDeque<>();
  private int logs; // of what waits
  private int underWay;

  FireAndForget(Inserts inserts) {
    this.inserts = inserts;
  }

  private record Waiting(Rows rows, CompletableFuture<Void> answer) {}

  @Override
  public synchronized CompletionStage<?> take(Rows rows) {
    var answer = new CompletableFuture<Void>();
    waiting.add(new Waiting(rows, answer));
    logs += rows.logs();
    if (logs <= LOGS) {
      answer.complete(null);
    }
    send();
    return answer;
  }

  private synchronized void send() {
    while (underWay < AT_ONCE && !waiting.isEmpty()) {
      var next = waiting.remove();
      logs -= next.rows.logs();
      underWay++;
      next.answer.complete(null);
      var _ = inserts.insert(next.rows).whenComplete((_, failed) -> ended(next.rows, failed));
    }
  }

  private void ended(Rows rows, @Nullable Throwable failed) {
    if (failed != null) {
      System.err.printf("%d logs are lost: %s%n", rows.logs(), failed);
    }
    synchronized (this) {
      underWay--;
      send();
    }
  }
}
