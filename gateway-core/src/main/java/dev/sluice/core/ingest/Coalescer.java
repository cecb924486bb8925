package dev.sluice.core.ingest;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.domain.LogIds;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.Appended;
import dev.sluice.core.port.Spool.Manner;
import dev.sluice.core.port.Timer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Makes one spool entry out of the requests that arrive while another is being appended.
 *
 * <p>An entry costs the spool about the same whether it holds one log or thousands. So the first
 * request on an idle gateway goes at once, and those that come while an append is under way wait
 * for its end, for a full entry, or for {@code maxWait}, whichever is first: entries grow with the
 * load and nobody waits without need.
 *
 * <p>But only so many entries are under way at a time, and what comes beyond that waits here for
 * one to end: a spool is called slow by what it takes for one append, and with all of a rush in its
 * hands at once the last would say more of the rush than of the spool. The price is paid while a
 * spool that has no other behind it does not answer: what waits here is not told so at once, but
 * tried in its turn.
 *
 * <p>Requests that were answered already have entries of their own, which are tried again, as the
 * same batch, until the spool has taken them. What it may have taken without our knowing it then
 * knows by its append id; what may be in two spools is appended as such from then on.
 *
 * <p>{@code waiting}, {@code records}, {@code bytes}, {@code underWay} and {@code round} are
 * guarded by {@code lock}; the spool is called outside it.
 */
final class Coalescer {
  /** A spool that fails instead of answering is tried again after this. */
  private static final Duration AFTER_FAILURE = Duration.ofSeconds(1);

  /**
   * Enough to keep a spool busy while it confirms; each may be a megabyte, and is two entries when
   * some of it was answered already.
   */
  private static final int MOST_UNDER_WAY = 8;

  private static final LogId NOWHERE = new LogId(0, 0);

  /** Between two tries when there is not much time left for any. */
  private static final Duration LAST_TRIES = Duration.ofMillis(100);

  /**
   * @param maxRecords records at which an entry is full
   * @param maxBytes OTLP bytes at which an entry is full; one larger request is an entry by itself
   * @param maxWait longest wait for company, at most a few milliseconds
   */
  record Bounds(int maxRecords, int maxBytes, Duration maxWait) {}

  /**
   * One judged request.
   *
   * @param persistent whether it was answered already, so that its append is tried until it
   *     succeeds
   * @param landed its first record's identity, and what became of the append
   */
  record Part(
      String tenant,
      boolean persistent,
      long receivedNanos,
      byte[] bytes,
      int length,
      int ordinals,
      int records,
      int expandedBytes,
      BitSet refused,
      CompletableFuture<Landed> landed) {}

  /**
   * @param first identity of the request's first accepted record
   */
  record Landed(Appended appended, LogId first) {}

  /** Whose parts share an entry. */
  private record Kind(String tenant, boolean persistent) {}

  /** An entry that is tried until it succeeds; its parts' own bytes are no longer needed. */
  private final class Persistent {
    private final LogBatch batch;
    private final Consumer<Appended> landed;
    private final AtomicBoolean trying = new AtomicBoolean(true);
    private final CompletableFuture<Void> ended = new CompletableFuture<>();

    /** Of the next try; of whoever is trying. */
    private Manner manner = Manner.AWAITED;

    private Persistent(LogBatch batch, Consumer<Appended> landed) {
      this.batch = batch;
      this.landed = landed;
    }

    /** After the first try, which ends like those of all other entries. */
    private void tried(Appended appended) {
      if (appended instanceof Appended.Accepted) {
        end(appended);
        return;
      }
      var pause = LAST_TRIES;
      if (appended instanceof Appended.Busy(var retryAfter, _, boolean doubtful)) {
        pause = ending ? pause : retryAfter;
        manner = doubtful ? Manner.AGAIN : manner;
      }
      trying.set(false);
      try {
        timer.after(pause, this::again);
      } catch (RuntimeException _) {
        // a timer that is shutting down: whoever ends us tries again
      }
    }

    private void again() {
      if (persistent.contains(this) && trying.compareAndSet(false, true)) {
        var _ = appended(batch, manner).thenAccept(this::tried);
      }
    }

    private void giveUp() {
      end(new Appended.Busy(Duration.ZERO, "the gateway has ended"));
    }

    private void end(Appended appended) {
      if (persistent.remove(this)) {
        landed.accept(appended);
        ended.complete(null);
      }
    }
  }

  private final Spool spool;
  private final LogIds ids;
  private final Timer timer;
  private final Bounds bounds;
  private final Object lock = new Object();

  private final ArrayDeque<Part> waiting = new ArrayDeque<>();
  private long records;
  private long bytes;
  private int underWay;
  private long round;

  private final Set<Persistent> persistent = ConcurrentHashMap.newKeySet();
  private volatile boolean ending;

  Coalescer(Spool spool, LogIds ids, Timer timer, Bounds bounds) {
    this.spool = spool;
    this.ids = ids;
    this.timer = timer;
    this.bounds = bounds;
  }

  CompletableFuture<Landed> add(Part part) {
    List<Part> before = List.of();
    List<Part> now = List.of();
    long armed = -1;
    synchronized (lock) {
      if (overflows(part)) {
        before = takeIfFree();
      }
      waiting.add(part);
      records += part.records();
      bytes += part.length();
      if (underWay == 0 || full()) {
        now = takeIfFree();
      }
      if (waiting.size() == 1) {
        armed = round;
      }
    }
    append(before);
    append(now);
    if (armed >= 0) {
      arm(armed);
    }
    return part.landed();
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
        || bytes + part.length() > bounds.maxBytes();
  }

  private boolean full() {
    return records >= bounds.maxRecords() || bytes >= bounds.maxBytes();
  }

  /** Call with the lock held. */
  private List<Part> takeIfFree() {
    return underWay < MOST_UNDER_WAY ? take() : List.of();
  }

  /** An entry's worth of those that wait, the oldest first. Call with the lock held. */
  private List<Part> take() {
    if (waiting.isEmpty()) {
      return List.of();
    }
    var taken = new ArrayList<Part>();
    int takenRecords = 0;
    long takenBytes = 0;
    do {
      var part = waiting.element();
      taken.add(part);
      waiting.remove();
      takenRecords += part.records();
      takenBytes += part.length();
    } while (!waiting.isEmpty()
        && takenRecords + waiting.element().records() <= bounds.maxRecords()
        && takenBytes + waiting.element().length() <= bounds.maxBytes());
    records -= takenRecords;
    bytes -= takenBytes;
    round++;
    underWay++;
    return taken;
  }

  private void waitedEnough(long awaited) {
    List<Part> now;
    synchronized (lock) {
      now = round == awaited ? takeIfFree() : List.of();
    }
    append(now);
  }

  /**
   * What has been waiting for this end: as the last of all, or as a place among those under way.
   */
  private List<Part> ended() {
    synchronized (lock) {
      boolean awaited = underWay == MOST_UNDER_WAY || underWay == 1;
      underWay--;
      return awaited ? take() : List.of();
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

  /** Appends what {@link #take} gave: one entry for each kind in it. */
  private CompletableFuture<Void> appendEach(List<Part> parts) {
    try {
      var byKind = new LinkedHashMap<Kind, List<Part>>();
      for (var part : parts) {
        byKind
            .computeIfAbsent(new Kind(part.tenant(), part.persistent()), _ -> new ArrayList<>())
            .add(part);
      }
      var appends =
          byKind.entrySet().stream()
              .map(entry -> appendOne(entry.getValue(), entry.getKey().persistent()))
              .toArray(CompletableFuture<?>[]::new);
      return CompletableFuture.allOf(appends);
    } catch (Throwable e) {
      return failed(parts, e);
    }
  }

  /** Such as for want of memory: those who wait are answered, and the place is free again. */
  private static CompletableFuture<Void> failed(List<Part> parts, Throwable e) {
    var busy = new Appended.Busy(AFTER_FAILURE, e.toString());
    parts.forEach(part -> part.landed().complete(new Landed(busy, NOWHERE)));
    return CompletableFuture.completedFuture(null);
  }

  private CompletableFuture<Void> appendOne(List<Part> parts, boolean again) {
    LogBatch batch;
    Consumer<Appended> landed;
    @Nullable Persistent entry;
    try {
      batch = together(parts);
      landed = landing(parts, batch.firstId());
      entry = again ? new Persistent(batch, landed) : null;
      if (entry != null) {
        persistent.add(entry);
      }
    } catch (Throwable e) {
      return failed(parts, e);
    }
    return entry == null
        ? appended(batch, Manner.AWAITED).thenAccept(landed)
        : appended(batch, hurried() ? Manner.AWAITED : Manner.UNHURRIED).thenAccept(entry::tried);
  }

  /** Whether somebody may be waiting for the end of what nobody waits for itself. */
  private boolean hurried() {
    synchronized (lock) {
      return ending || underWay >= MOST_UNDER_WAY;
    }
  }

  /** Tells each part where in the entry it is; keeps nothing else of them. */
  private static Consumer<Appended> landing(List<Part> parts, LogId firstOfAll) {
    record Place(LogId first, CompletableFuture<Landed> landed) {}
    var places = new ArrayList<Place>(parts.size());
    int before = 0;
    for (var part : parts) {
      places.add(new Place(firstOfAll.plus(before), part.landed()));
      before += part.records();
    }
    return appended ->
        places.forEach(place -> place.landed().complete(new Landed(appended, place.first())));
  }

  /** Never fails: those who wait are answered and the next may try, whatever it is. */
  private CompletableFuture<Appended> appended(LogBatch batch, Manner manner) {
    CompletionStage<Appended> appended;
    try {
      appended = spool.append(batch, manner);
    } catch (Throwable e) {
      appended = CompletableFuture.failedFuture(e);
    }
    return appended
        .exceptionally(e -> new Appended.Busy(AFTER_FAILURE, e.toString(), true))
        .toCompletableFuture();
  }

  /**
   * Gives what was answered and is not in the spool yet its last chance, and then up. Nothing is
   * added any more.
   */
  void close(Duration patience) {
    ending = true;
    List<Part> now;
    do {
      synchronized (lock) {
        now = take();
      }
      append(now);
    } while (!now.isEmpty());
    persistent.forEach(Persistent::again);
    var left = persistent.stream().map(entry -> entry.ended).toArray(CompletableFuture<?>[]::new);
    try {
      CompletableFuture.allOf(left).get(patience.toNanos(), TimeUnit.NANOSECONDS);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException | TimeoutException _) {
      // what is left is given up
    }
    persistent.forEach(Persistent::giveUp);
  }

  /** Several protobuf messages written one after the other are their union. */
  LogBatch together(List<Part> parts) {
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
