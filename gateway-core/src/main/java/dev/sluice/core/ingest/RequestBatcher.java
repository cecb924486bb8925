package dev.sluice.core.ingest;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.domain.LogIdGenerator;
import dev.sluice.core.ingest.IngestService.BatchLimits;
import dev.sluice.core.port.Scheduler;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.core.port.Spool.AppendResult;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
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
 * A batcher that merges the requests that arrive during an append into one spool entry.
 *
 * <p>The cost of an entry for the spool hardly depends on its number of logs. So the batcher
 * appends the first request on an idle gateway immediately. Requests that arrive during an append
 * wait until it completes, until an entry is full, or until the linger elapses, whichever is first.
 * Entries thus grow with the load, and no request waits needlessly.
 *
 * <p>The number of appends in flight is limited (ADR 0005); further requests wait in the batcher.
 * The latency of one append decides whether a spool counts as slow, so the spool must not queue a
 * burst of appends itself. The cost: while a spool without a fallback does not respond, a waiting
 * request fails only after its own append, not as soon as the first append fails.
 *
 * <p>Requests that are already acknowledged get entries of their own. The batcher repeats such an
 * append, with the same batch, until the spool accepts it. The spool recognizes an append with an
 * unknown outcome by its append id. A batch that may be in another spool is appended as {@link
 * AppendMode#POSSIBLE_DUPLICATE} from then on.
 *
 * <p>Thread-safe. {@code lock} guards {@code pending}, {@code pendingRecords}, {@code
 * pendingBytes}, {@code inFlight} and {@code generation}; calls of the spool are outside the lock.
 */
final class RequestBatcher {
  /** The delay of a retry after an append that fails with an exception. */
  private static final Duration RETRY_DELAY = Duration.ofSeconds(1);

  /**
   * The maximum number of appends in flight: enough to keep a spool busy while it confirms, see ADR
   * 0005. Each append is up to {@link BatchLimits#maxBytes} in size, and has two entries when some
   * of its requests are already acknowledged.
   */
  private static final int MAX_IN_FLIGHT = 8;

  private static final LogId NO_ID = new LogId(0, 0);

  /** The delay between two attempts during shutdown, when little time is left. */
  private static final Duration FINAL_RETRY_DELAY = Duration.ofMillis(100);

  /**
   * A validated request that waits for its append.
   *
   * @param responded whether the client already has its response, so that the append is repeated
   *     until it succeeds
   * @param bytes the OTLP bytes of the accepted records, in the first {@code length} bytes
   * @param outcome completes with the result of the append; never fails
   */
  record PendingRequest(
      String tenant,
      boolean responded,
      long receivedNanos,
      byte[] bytes,
      int length,
      int acceptedCount,
      int expandedBytes,
      CompletableFuture<AppendOutcome> outcome) {}

  /**
   * The outcome of the append of one request.
   *
   * @param firstId the id of the first accepted record of the request
   */
  record AppendOutcome(AppendResult result, LogId firstId) {}

  /** The key of an entry: requests with the same key share an entry. */
  private record BatchKey(String tenant, boolean responded) {}

  /** An append that is repeated until it succeeds; it does not retain the requests themselves. */
  private final class RetryingAppend {
    private final LogBatch batch;
    private final Consumer<AppendResult> completer;
    private final AtomicBoolean attemptInFlight = new AtomicBoolean(true);
    private final CompletableFuture<Void> done = new CompletableFuture<>();

    /** The mode of the next attempt; only the attempt in flight accesses it. */
    private AppendMode mode = AppendMode.SYNC;

    private RetryingAppend(LogBatch batch, Consumer<AppendResult> completer) {
      this.batch = batch;
      this.completer = completer;
    }

    /** Handles the result of an attempt: completes the append, or schedules a retry. */
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
        // the scheduler is shutting down: close() makes the last attempt
      }
    }

    private void retry() {
      if (retrying.contains(this) && attemptInFlight.compareAndSet(false, true)) {
        var _ = appendToSpool(batch, mode).thenAccept(this::onAttemptComplete);
      }
    }

    private void giveUp() {
      complete(new AppendResult.Unavailable(Duration.ZERO, "the gateway has shut down"));
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
      onLingerElapsed(armedGeneration); // the scheduler is shutting down: append immediately
    }
  }

  private boolean overflows(PendingRequest request) {
    return pendingRecords + request.acceptedCount() > limits.maxRecords()
        || pendingBytes + request.length() > limits.maxBytes();
  }

  private boolean isFull() {
    return pendingRecords >= limits.maxRecords() || pendingBytes >= limits.maxBytes();
  }

  /** Takes a batch unless too many appends are in flight. The caller must hold the lock. */
  private List<PendingRequest> takeIfPermitted() {
    return inFlight < MAX_IN_FLIGHT ? takeBatch() : List.of();
  }

  /** Takes the oldest pending requests that fit into one entry. The caller must hold the lock. */
  private List<PendingRequest> takeBatch() {
    if (pending.isEmpty()) {
      return List.of();
    }
    var batchRequests = new ArrayList<PendingRequest>();
    int batchRecordCount = 0;
    long batchBytes = 0;
    do {
      var request = pending.element();
      batchRequests.add(request);
      pending.remove();
      batchRecordCount += request.acceptedCount();
      batchBytes += request.length();
    } while (!pending.isEmpty()
        && batchRecordCount + pending.element().acceptedCount() <= limits.maxRecords()
        && batchBytes + pending.element().length() <= limits.maxBytes());
    pendingRecords -= batchRecordCount;
    pendingBytes -= batchBytes;
    generation++;
    inFlight++;
    return batchRequests;
  }

  private void onLingerElapsed(long armedGeneration) {
    List<PendingRequest> ready;
    synchronized (lock) {
      ready = generation == armedGeneration ? takeIfPermitted() : List.of();
    }
    append(ready);
  }

  /**
   * Ends an append in flight and takes the next batch: when the limit on appends in flight was
   * reached, or when no other append is in flight.
   */
  private List<PendingRequest> onAppendComplete() {
    synchronized (lock) {
      boolean flushNext = inFlight == MAX_IN_FLIGHT || inFlight == 1;
      inFlight--;
      return flushNext ? takeBatch() : List.of();
    }
  }

  /**
   * Appends the requests, and then the requests that have arrived meanwhile. This is a loop, not a
   * recursion, because under load a spool that completes synchronously would overflow the stack.
   */
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

  /** Appends the requests that {@link #takeBatch} returned: one entry for each {@link BatchKey}. */
  private CompletableFuture<Void> appendEach(List<PendingRequest> requests) {
    try {
      var byKey = new LinkedHashMap<BatchKey, List<PendingRequest>>();
      for (var request : requests) {
        byKey
            .computeIfAbsent(
                new BatchKey(request.tenant(), request.responded()), _ -> new ArrayList<>())
            .add(request);
      }
      var appends =
          byKey.entrySet().stream()
              .map(entry -> appendOne(entry.getValue(), entry.getKey().responded()))
              .toArray(CompletableFuture<?>[]::new);
      return CompletableFuture.allOf(appends);
    } catch (Throwable e) {
      return failAll(requests, e);
    }
  }

  /**
   * Fails all requests after an error such as {@link OutOfMemoryError}, so that each gets a
   * response and the append is no longer in flight.
   */
  private static CompletableFuture<Void> failAll(List<PendingRequest> requests, Throwable e) {
    var unavailable = new AppendResult.Unavailable(RETRY_DELAY, e.toString());
    requests.forEach(request -> request.outcome().complete(new AppendOutcome(unavailable, NO_ID)));
    return CompletableFuture.completedFuture(null);
  }

  private CompletableFuture<Void> appendOne(List<PendingRequest> requests, boolean responded) {
    LogBatch batch;
    Consumer<AppendResult> completer;
    @Nullable RetryingAppend retryingAppend;
    try {
      batch = merge(requests);
      completer = completerFor(requests, batch.firstId());
      retryingAppend = responded ? new RetryingAppend(batch, completer) : null;
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

  /**
   * Whether other requests, or the shutdown, wait for the end of an append although its own clients
   * do not.
   */
  private boolean isUrgent() {
    synchronized (lock) {
      return closing || inFlight >= MAX_IN_FLIGHT;
    }
  }

  /**
   * Returns a function that completes each request with the result and with the id of its first
   * record in the entry. It does not retain the requests.
   */
  private static Consumer<AppendResult> completerFor(List<PendingRequest> requests, LogId firstId) {
    record Completion(LogId firstId, CompletableFuture<AppendOutcome> outcome) {}
    var completions = new ArrayList<Completion>(requests.size());
    int offset = 0;
    for (var request : requests) {
      completions.add(new Completion(firstId.plus(offset), request.outcome()));
      offset += request.acceptedCount();
    }
    return result ->
        completions.forEach(
            completion ->
                completion.outcome().complete(new AppendOutcome(result, completion.firstId())));
  }

  /**
   * Appends a batch. The future never fails, so that after any error the requests get a response
   * and the next append can start.
   */
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
   * Makes last attempts to append the acknowledged requests that are not in the spool yet, for at
   * most {@code timeout}, and then gives up. The caller must not add requests any more.
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
      // the unfinished appends are given up below
    }
    retrying.forEach(RetryingAppend::giveUp);
  }

  /** Merges requests of one tenant: concatenated protobuf messages are one merged message. */
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
    if (requests.size() > 1 || otlp.length != length) {
      otlp = new byte[length];
      int offset = 0;
      for (var request : requests) {
        System.arraycopy(request.bytes(), 0, otlp, offset, request.length());
        offset += request.length();
      }
    }
    return new LogBatch(
        UUID.randomUUID(),
        first.tenant(),
        first.receivedNanos(),
        ids.next(records),
        records,
        expanded,
        otlp);
  }

  private static int saturatedSum(int a, int b) {
    return (int) Math.min(Integer.MAX_VALUE, (long) a + b);
  }
}
