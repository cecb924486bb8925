package dev.sluice.core.ingest;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogIds;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.Appended;
import dev.sluice.core.port.Timer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;

/**
 * Makes one spool entry out of the requests that arrive while another is being appended.
 *
 * <p>An entry costs the spool about the same whether it holds one log or thousands. So the first
 * request on an idle gateway goes at once, and those that come while an append is under way wait
 * for its end, for a full entry, or for {@code maxWait}, whichever is first: entries grow with the
 * load and nobody waits without need.
 *
 * <p>{@code waiting}, {@code records}, {@code bytes}, {@code underWay} and {@code round} are
 * guarded by {@code lock}; the spool is called outside it.
 */
final class Coalescer {
  private static final Duration AFTER_FAILURE = Duration.ofSeconds(5);

  /**
   * @param maxRecords records at which an entry is full
   * @param maxBytes OTLP bytes at which an entry is full; one larger request is an entry by itself
   * @param maxWait longest wait for company, at most a few milliseconds
   */
  record Bounds(int maxRecords, int maxBytes, Duration maxWait) {}

  /** One judged request. */
  record Part(
      String tenant,
      long receivedNanos,
      byte[] bytes,
      int length,
      int ordinals,
      int records,
      int expandedBytes,
      BitSet refused,
      CompletableFuture<Appended> answer) {}

  private final Spool spool;
  private final LogIds ids;
  private final Timer timer;
  private final Bounds bounds;
  private final Object lock = new Object();

  private List<Part> waiting = new ArrayList<>();
  private int records;
  private int bytes;
  private int underWay;
  private long round;

  Coalescer(Spool spool, LogIds ids, Timer timer, Bounds bounds) {
    this.spool = spool;
    this.ids = ids;
    this.timer = timer;
    this.bounds = bounds;
  }

  CompletionStage<Appended> add(Part part) {
    List<Part> before = List.of();
    List<Part> now = List.of();
    long armed = -1;
    synchronized (lock) {
      if (!waiting.isEmpty() && overflows(part)) {
        before = take();
      }
      waiting.add(part);
      records += part.records();
      bytes += part.length();
      if (underWay == 0 || full()) {
        now = take();
      } else if (waiting.size() == 1) {
        armed = round;
      }
    }
    append(before);
    append(now);
    if (armed >= 0) {
      arm(armed);
    }
    return part.answer();
  }

  private void arm(long awaited) {
    try {
      timer.after(bounds.maxWait(), () -> waitedEnough(awaited));
    } catch (RuntimeException _) {
      waitedEnough(awaited); // a timer that is shutting down: nobody may wait for it
    }
  }

  private boolean overflows(Part part) {
    return records + part.records() > bounds.maxRecords()
        || (long) bytes + part.length() > bounds.maxBytes();
  }

  private boolean full() {
    return records >= bounds.maxRecords() || bytes >= bounds.maxBytes();
  }

  /** Call with the lock held. */
  private List<Part> take() {
    if (waiting.isEmpty()) {
      return List.of(); // never the list itself: others add to it as soon as the lock is free
    }
    var taken = waiting;
    waiting = new ArrayList<>();
    records = 0;
    bytes = 0;
    round++;
    underWay++;
    return taken;
  }

  private void waitedEnough(long awaited) {
    List<Part> now;
    synchronized (lock) {
      now = round == awaited ? take() : List.of();
    }
    append(now);
  }

  /** What has been waiting for this end, if it was the last. */
  private List<Part> ended() {
    synchronized (lock) {
      underWay--;
      return underWay == 0 ? take() : List.of();
    }
  }

  /** A loop and not a recursion: under load, a spool that answers at once would never return. */
  private void append(List<Part> parts) {
    var rest = parts;
    while (!rest.isEmpty()) {
      var appended = appendEach(rest);
      if (!appended.isDone()) {
        var _ = appended.whenComplete((_, _) -> append(ended()));
        return;
      }
      rest = ended();
    }
  }

  /** Appends what {@link #take} gave: one entry for each tenant in it. */
  private CompletableFuture<Void> appendEach(List<Part> parts) {
    var byTenant = new LinkedHashMap<String, List<Part>>();
    for (var part : parts) {
      byTenant.computeIfAbsent(part.tenant(), _ -> new ArrayList<>()).add(part);
    }
    var appends =
        byTenant.values().stream().map(this::appendOne).toArray(CompletableFuture<?>[]::new);
    return CompletableFuture.allOf(appends);
  }

  private CompletableFuture<Void> appendOne(List<Part> parts) {
    CompletionStage<Appended> appended;
    try {
      appended = spool.append(together(parts));
    } catch (Throwable e) { // whatever it is, those who wait are answered and the next may try
      appended = CompletableFuture.failedFuture(e);
    }
    return appended
        .exceptionally(e -> new Appended.Busy(AFTER_FAILURE, e.toString()))
        .thenAccept(outcome -> parts.forEach(part -> part.answer().complete(outcome)))
        .toCompletableFuture();
  }

  /** Several protobuf messages written one after the other are their union. */
  private LogBatch together(List<Part> parts) {
    var first = parts.getFirst();
    int length = 0;
    int records = 0;
    int expanded = 0;
    for (var part : parts) {
      length += part.length();
      records += part.records();
      expanded = saturatedSum(expanded, part.expandedBytes());
    }
    var otlp = first.bytes();
    var refused = first.refused();
    if (parts.size() > 1 || otlp.length != length) {
      otlp = new byte[length];
      refused = new BitSet();
      int offset = 0;
      int ordinals = 0;
      for (var part : parts) {
        System.arraycopy(part.bytes(), 0, otlp, offset, part.length());
        for (int i = part.refused().nextSetBit(0); i >= 0; i = part.refused().nextSetBit(i + 1)) {
          refused.set(ordinals + i);
        }
        offset += part.length();
        ordinals += part.ordinals();
      }
    }
    return new LogBatch(
        UUID.randomUUID(),
        first.tenant(),
        first.receivedNanos(),
        ids.next(records),
        records,
        expanded,
        refused,
        otlp);
  }

  private static int saturatedSum(int a, int b) {
    return (int) Math.min(Integer.MAX_VALUE, (long) a + b);
  }
}
