package dev.sluice.core.ingest;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.domain.LogIdGenerator;
import dev.sluice.core.port.Scheduler;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.core.port.Spool.AppendResult;
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
final class RequestBatcher {
  /** A spool that fails instead of answering is tried again after this. */
  private static final Duration RETRY_DELAY = Duration.ofSeconds(1);

  /**
   * Enough to keep a spool busy while it confirms; each may be a megabyte, and is two entries when
   * some of it was answered already.
   */
  private static final int MAX_IN_FLIGHT = 8;

  private static final LogId NO_ID = new LogId(0, 0);

  /** Between two tries when there is not much time left for any. */
  private static final Duration FINAL_RETRY_DELAY = Duration.ofMillis(100);

  /**
   * @param maxRecords records at which an entry is full
   * @param maxBytes OTLP bytes at which an entry is full; one larger request is an entry by itself
   * @param linger longest wait for company, at most a few milliseconds
   */
  record BatchLimits(int maxRecords, int maxBytes, Duration linger) {}

  /**
   * One judged request.
   *
   * @param acked whether it was answered already, so that its append is tried until it succeeds
   * @param outcome its first record's identity, and what became of the append
   */
  record PendingRequest(
      String tenant,
      boolean acked,
      long receivedNanos,
      byte[] bytes,
      int length,
      int ordinalCount,
      int acceptedCount,
      int expandedBytes,
      BitSet excludedOrdinals,
      CompletableFuture<AppendOutcome> outcome) {}

  /**
   * @param firstId identity of the request's first accepted record
   */
  record AppendOutcome(AppendResult result, LogId firstId) {}

  /** Whose parts share an entry. */
  private record BatchKey(String tenant, boolean acked) {}

  /** An entry that is tried until it succeeds; its parts' own bytes are no longer needed. */
  private final class RetryingAppend {
    private final LogBatch batch;
    private final Consumer<AppendResult> completer;
    private final AtomicBoolean attemptInFlight = new AtomicBoolean(true);
    private final CompletableFuture<Void> done = new CompletableFuture<>();

    /** Of the next try; of whoever is trying. */
    private AppendMode mode = AppendMode.SYNC;

    private RetryingAppend(LogBatch batch, Consumer<AppendResult> completer) {
      this.batch = batch;
      this.completer = completer;
    }

    /** After the first try, which ends like those of all other entries. */
    private void onAttemptComplete(AppendResult result) {
      if (result instanceof AppendResult.Accepted) {
        complete(result);
        return;
      }
      var retryDelay = FINAL_RETRY_DELAY;
      if (result instanceof AppendResult.Unavailable(var retryAfter, _, boolean outcomeUnknown)) {
        retryDelay = closing ? retryDelay : retryAfter;
        mode = outcomeUnknown ? AppendMode.POSSIBLE_DUPLICATE : mode;
      }
      attemptInFlight.set(false);
      try {
        scheduler.schedule(retryDelay, this::retry);
      } catch (RuntimeException _) {
        // a timer that is shutting down: whoever ends us tries again
      }
    }

    private void retry() {
      if (retrying.contains(this) && attemptInFlight.compareAndSet(false, true)) {
        var _ = appendToSpool(batch, mode).thenAccept(this::onAttemptComplete);
      }
    }

    private void giveUp() {
      complete(new AppendResult.Unavailable(Duration.ZERO, "the gateway has ended"));
    }

    private void complete(AppendResult result) {
      if (retrying.remove(this)) {
        completer.accept(result);
        done.complete(null);
      }
    }
  }

  private final Spool spool;
  private final LogIdGenerator ids;
  private final Scheduler scheduler;
  private final BatchLimits limits;
  private final Object lock = new Object();

  private final ArrayDeque<PendingRequest> pending = new ArrayDeque<>();
  private long pendingRecords;
  private long pendingBytes;
  private int inFlight;
  private long generation;

  private final Set<RetryingAppend> retrying = ConcurrentHashMap.newKeySet();
  private volatile boolean closing;

  RequestBatcher(Spool spool, LogIdGenerator ids, Scheduler scheduler, BatchLimits limits) {
    this.spool = spool;
    this.ids = ids;
    this.scheduler = scheduler;
    this.limits = limits;
  }

  CompletableFuture<AppendOutcome> add(PendingRequest request) {
    List<PendingRequest> overflowed = List.of();
    List<PendingRequest> ready = List.of();
    long armedGeneration = -1;
    synchronized (lock) {
      if (overflows(request)) {
        overflowed = takeIfPermitted();
      }
      pending.add(request);
      pendingRecords += request.acceptedCount();
      pendingBytes += request.length();
      if (inFlight == 0 || isFull()) {
        ready = takeIfPermitted();
      }
      if (pending.size() == 1) {
        armedGeneration = generation;
      }
    }
    append(overflowed);
    append(ready);
    if (armedGeneration >= 0) {
      arm(armedGeneration);
    }
    return request.outcome();
  }

  private void arm(long armedGeneration) {
    try {
      scheduler.schedule(limits.linger(), () -> onLingerElapsed(armedGeneration));
    } catch (RuntimeException _) {
      onLingerElapsed(armedGeneration); // a timer that is shutting down: nobody may wait for it
    }
  }

  private boolean overflows(PendingRequest request) {
    return pendingRecords + request.acceptedCount() > limits.maxRecords()
        || pendingBytes + request.length() > limits.maxBytes();
  }

  private boolean isFull() {
    return pendingRecords >= limits.maxRecords() || pendingBytes >= limits.maxBytes();
  }

  /** Call with the lock held. */
  private List<PendingRequest> takeIfPermitted() {
    return inFlight < MAX_IN_FLIGHT ? takeBatch() : List.of();
  }

  /** An entry's worth of those that wait, the oldest first. Call with the lock held. */
  private List<PendingRequest> takeBatch() {
    if (pending.isEmpty()) {
      return List.of();
    }
    var taken = new ArrayList<PendingRequest>();
    int takenRecords = 0;
    long takenBytes = 0;
    do {
      var request = pending.element();
      taken.add(request);
      pending.remove();
      takenRecords += request.acceptedCount();
      takenBytes += request.length();
    } while (!pending.isEmpty()
        && takenRecords + pending.element().acceptedCount() <= limits.maxRecords()
        && takenBytes + pending.element().length() <= limits.maxBytes());
    pendingRecords -= takenRecords;
    pendingBytes -= takenBytes;
    generation++;
    inFlight++;
    return taken;
  }

  private void onLingerElapsed(long armedGeneration) {
    List<PendingRequest> ready;
    synchronized (lock) {
      ready = generation == armedGeneration ? takeIfPermitted() : List.of();
    }
    append(ready);
  }

  /**
   * What has been waiting for this end: as the last of all, or as a place among those under way.
   */
  private List<PendingRequest> onAppendComplete() {
    synchronized (lock) {
      boolean flushNext = inFlight == MAX_IN_FLIGHT || inFlight == 1;
      inFlight--;
      return flushNext ? takeBatch() : List.of();
    }
  }

  /** A loop and not a recursion: under load, a spool that answers at once would never return. */
  private void append(List<PendingRequest> requests) {
    var remaining = requests;
    while (!remaining.isEmpty()) {
      var appends = appendEach(remaining);
      if (!appends.isDone()) {
        var _ = appends.whenComplete((_, _) -> append(onAppendComplete()));
        return;
      }
      remaining = onAppendComplete();
    }
  }

  /** Appends what {@link #takeBatch} gave: one entry for each kind in it. */
  private CompletableFuture<Void> appendEach(List<PendingRequest> requests) {
    try {
      var byKey = new LinkedHashMap<BatchKey, List<PendingRequest>>();
      for (var request : requests) {
        byKey
            .computeIfAbsent(
                new BatchKey(request.tenant(), request.acked()), _ -> new ArrayList<>())
            .add(request);
      }
      var appends =
          byKey.entrySet().stream()
              .map(entry -> appendOne(entry.getValue(), entry.getKey().acked()))
              .toArray(CompletableFuture<?>[]::new);
      return CompletableFuture.allOf(appends);
    } catch (Throwable e) {
      return failAll(requests, e);
    }
  }

  /** Such as for want of memory: those who wait are answered, and the place is free again. */
  private static CompletableFuture<Void> failAll(List<PendingRequest> requests, Throwable e) {
    var unavailable = new AppendResult.Unavailable(RETRY_DELAY, e.toString());
    requests.forEach(request -> request.outcome().complete(new AppendOutcome(unavailable, NO_ID)));
    return CompletableFuture.completedFuture(null);
  }

  private CompletableFuture<Void> appendOne(List<PendingRequest> requests, boolean acked) {
    LogBatch batch;
    Consumer<AppendResult> completer;
    @Nullable RetryingAppend retryingAppend;
    try {
      batch = merge(requests);
      completer = completerFor(requests, batch.firstId());
      retryingAppend = acked ? new RetryingAppend(batch, completer) : null;
      if (retryingAppend != null) {
        retrying.add(retryingAppend);
      }
    } catch (Throwable e) {
      return failAll(requests, e);
    }
    return retryingAppend == null
        ? appendToSpool(batch, AppendMode.SYNC).thenAccept(completer)
        : appendToSpool(batch, isUrgent() ? AppendMode.SYNC : AppendMode.LAZY)
            .thenAccept(retryingAppend::onAttemptComplete);
  }

  /** Whether somebody may be waiting for the end of what nobody waits for itself. */
  private boolean isUrgent() {
    synchronized (lock) {
      return closing || inFlight >= MAX_IN_FLIGHT;
    }
  }

  /** Tells each part where in the entry it is; keeps nothing else of them. */
  private static Consumer<AppendResult> completerFor(List<PendingRequest> requests, LogId firstId) {
    record Place(LogId first, CompletableFuture<AppendOutcome> landed) {}
    var completions = new ArrayList<Place>(requests.size());
    int offset = 0;
    for (var request : requests) {
      completions.add(new Place(firstId.plus(offset), request.outcome()));
      offset += request.acceptedCount();
    }
    return result ->
        completions.forEach(
            completion ->
                completion.landed().complete(new AppendOutcome(result, completion.first())));
  }

  /** Never fails: those who wait are answered and the next may try, whatever it is. */
  private CompletableFuture<AppendResult> appendToSpool(LogBatch batch, AppendMode mode) {
    CompletionStage<AppendResult> result;
    try {
      result = spool.append(batch, mode);
    } catch (Throwable e) {
      result = CompletableFuture.failedFuture(e);
    }
    return result
        .exceptionally(e -> new AppendResult.Unavailable(RETRY_DELAY, e.toString(), true))
        .toCompletableFuture();
  }

  /**
   * Gives what was answered and is not in the spool yet its last chance, and then up. Nothing is
   * added any more.
   */
  void close(Duration timeout) {
    closing = true;
    List<PendingRequest> ready;
    do {
      synchronized (lock) {
        ready = takeBatch();
      }
      append(ready);
    } while (!ready.isEmpty());
    retrying.forEach(RetryingAppend::retry);
    var unfinished =
        retrying.stream().map(entry -> entry.done).toArray(CompletableFuture<?>[]::new);
    try {
      CompletableFuture.allOf(unfinished).get(timeout.toNanos(), TimeUnit.NANOSECONDS);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException | TimeoutException _) {
      // what is left is given up
    }
    retrying.forEach(RetryingAppend::giveUp);
  }

  /** Several protobuf messages written one after the other are their union. */
  LogBatch merge(List<PendingRequest> requests) {
    var first = requests.getFirst();
    int length = 0;
    int records = 0;
    int expanded = 0;
    for (var request : requests) {
      length += request.length();
      records += request.acceptedCount();
      expanded = saturatedSum(expanded, request.expandedBytes());
    }
    var otlp = first.bytes();
    var excludedOrdinals = first.excludedOrdinals();
    if (requests.size() > 1 || otlp.length != length) {
      otlp = new byte[length];
      excludedOrdinals = new BitSet();
      int offset = 0;
      int ordinalOffset = 0;
      for (var request : requests) {
        System.arraycopy(request.bytes(), 0, otlp, offset, request.length());
        for (int i = request.excludedOrdinals().nextSetBit(0);
            i >= 0;
            i = request.excludedOrdinals().nextSetBit(i + 1)) {
          excludedOrdinals.set(ordinalOffset + i);
        }
        offset += request.length();
        ordinalOffset += request.ordinalCount();
      }
    }
    return new LogBatch(
        UUID.randomUUID(),
        first.tenant(),
        first.receivedNanos(),
        ids.next(records),
        records,
        expanded,
        excludedOrdinals,
        otlp);
  }

  private static int saturatedSum(int a, int b) {
    return (int) Math.min(Integer.MAX_VALUE, (long) a + b);
  }
}
