package dev.sluice.core.ingest;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.LogIdGenerator;
import dev.sluice.core.ingest.RequestBatcher.AppendOutcome;
import dev.sluice.core.ingest.RequestBatcher.PendingRequest;
import dev.sluice.core.otlp.MalformedOtlpException;
import dev.sluice.core.otlp.OtlpWalker;
import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.IdempotencyStore.Claim;
import dev.sluice.core.port.IdempotencyStore.ClaimResult;
import dev.sluice.core.port.IngestMetrics;
import dev.sluice.core.port.Scheduler;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.AppendResult;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.OptionalInt;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The only way in: every entrance ends here, none reaches past it, every record is judged and
 * counted once.
 *
 * <p>Safe for use by many threads; nothing blocks.
 */
public final class IngestService {

  /** Verdicts given in detail for one request; further rejected records are only counted. */
  public static final int MAX_REJECTIONS = 10_000;

  /**
   * Bytes that a request of level {@link AckLevel#ACCEPTED} takes beside its logs: it may lie here
   * for long, and many small ones must not come to more than they count for.
   */
  public static final int REQUEST_OVERHEAD_BYTES = 1024;

  /** Whose logs these are until there are keys that say so. */
  public static final String DEFAULT_TENANT = "default";

  private static final System.Logger LOG = System.getLogger(IngestService.class.getName());

  /**
   * When an entry is full.
   *
   * @param maxRecords records in a spool entry of several requests
   * @param maxBytes OTLP bytes in a spool entry of several requests
   * @param linger how long a request may wait for company
   */
  public record BatchLimits(int maxRecords, int maxBytes, Duration linger) {
    public BatchLimits {
      if (maxRecords <= 0 || maxBytes <= 0 || linger.isNegative()) {
        throw new IllegalArgumentException(
            "coalescing needs positive bounds, has %d records, %d bytes, %s"
                .formatted(maxRecords, maxBytes, linger));
      }
    }
  }

  /**
   * @param protocol by which way it came, for the meters
   * @param level at which it is answered
   * @param key under which it is taken once; null when it has none. Then the level is {@link
   *     AckLevel#DURABLE} at least
   */
  public record RequestContext(
      String protocol, AckLevel level, IdempotencyStore.@Nullable IdempotencyKey key) {

    // spelled out: of a compact constructor's parameters, javac tells other modules no nullness
    public RequestContext(
        String protocol, AckLevel level, IdempotencyStore.@Nullable IdempotencyKey key) {
      if (key != null && level == AckLevel.ACCEPTED) {
        throw new IllegalArgumentException("a key is remembered where the logs are");
      }
      this.protocol = protocol;
      this.level = level;
      this.key = key;
    }
  }

  /**
   * What is done with logs beside taking them.
   *
   * @param allowlist which are taken, asked once for each request
   * @param mirror where those that were taken are shown
   */
  public record RecordPolicy(Supplier<BodyAllowlist> allowlist, ConsoleMirror mirror) {
    /** Every log is taken, and none is shown. */
    public static final RecordPolicy ACCEPT_ALL =
        new RecordPolicy(() -> BodyAllowlist.ALLOW_ALL, ConsoleMirror.OFF);
  }

  private final Limits limits;
  private final RecordPolicy recordPolicy;
  private final InstantSource clock;
  private final IngestMetrics metrics;
  private final RequestBatcher batcher;
  private final IdempotencyStore idempotencyStore;
  private final AdmissionController admission;
  private final StoredAckTracker storedAcks;
  private final LongAdder lostRecords = new LongAdder();
  private final Queue<OtlpWalker> walkers = new ConcurrentLinkedQueue<>();

  /**
   * @param admission says when those who are turned away should come again
   * @param recordPolicy which of the good ones are taken
   * @param storedAckTimeout how long the answer to a request of level {@link AckLevel#STORED} waits
   *     for the store, after its logs are durable
   */
  public IngestService(
      Spool spool,
      IdempotencyStore idempotencyStore,
      AdmissionController admission,
      Limits limits,
      RecordPolicy recordPolicy,
      BatchLimits batchLimits,
      Duration storedAckTimeout,
      InstantSource clock,
      Scheduler scheduler,
      IngestMetrics metrics) {
    this.limits = limits;
    this.recordPolicy = recordPolicy;
    this.clock = clock;
    this.metrics = metrics;
    this.idempotencyStore = idempotencyStore;
    this.admission = admission;
    this.storedAcks = new StoredAckTracker(spool, scheduler, storedAckTimeout);
    this.batcher =
        new RequestBatcher(
            spool,
            new LogIdGenerator(clock),
            scheduler,
            new RequestBatcher.BatchLimits(
                batchLimits.maxRecords(), batchLimits.maxBytes(), batchLimits.linger()));
  }

  /** Judges the records and makes the good ones safe. */
  public IngestHandle accept(RequestContext request, OtlpPayload payload) {
    var protocol = request.protocol();
    var now = clock.instant();
    var collector = new RejectionCollector(payload, recordPolicy.allowlist().get());
    var walker = walkers.poll();
    if (walker == null) {
      walker = new OtlpWalker(limits);
    }
    int records;
    long expanded;
    try {
      walker.walk(payload.bytes(), 0, payload.length(), collector);
      records = walker.records();
      expanded = walker.expandedBytes();
    } catch (MalformedOtlpException e) {
      metrics.recordMalformed(protocol);
      return IngestHandle.completed(new IngestResult.Malformed(String.valueOf(e.getMessage())));
    } finally {
      walkers.add(walker); // another thread's from here on
    }
    int total = records + payload.rejectedCount();
    if (total > limits.maxRecords()) {
      metrics.recordMalformed(protocol);
      return IngestHandle.completed(
          new IngestResult.TooLarge(total + " log records, limit " + limits.maxRecords()));
    }
    if (expanded > limits.maxExpandedBytes()) {
      metrics.recordMalformed(protocol);
      return IngestHandle.completed(
          new IngestResult.TooLarge(
              "%d bytes when each record carries its resource and scope, limit %d"
                  .formatted(expanded, limits.maxExpandedBytes())));
    }
    metrics.recordReceived(protocol, total, payload.length());
    if (payload.unknownFields() > 0) {
      metrics.recordUnknownFields(protocol, payload.unknownFields());
    }
    if (collector.filteredCount() > 0) {
      metrics.recordFiltered(protocol, collector.filteredCount());
    }
    int rejectedCount = collector.rejectedCount() + payload.rejectedCount();
    if (rejectedCount > 0) {
      metrics.recordRejected(protocol, rejectedCount);
    }
    int acceptedCount = records - collector.rejectedCount() - collector.filteredCount();
    var result =
        new IngestResult.Accepted(
            acceptedCount,
            collector.rejections(),
            rejectedCount,
            collector.filteredCount(),
            request.level(),
            0,
            false);
    if (acceptedCount == 0) {
      return IngestHandle.completed(result);
    }
    var pending =
        new PendingRequest(
            DEFAULT_TENANT,
            request.level() == AckLevel.ACCEPTED,
            nanos(now),
            payload.bytes(),
            payload.length(),
            records,
            acceptedCount,
            (int) (expanded - collector.filteredBytes()),
            collector.excludedOrdinals(),
            new CompletableFuture<>());
    var key = request.key();
    return key == null
        ? append(request, result, pending)
        : appendOnce(request, result, pending, key);
  }

  private IngestHandle append(
      RequestContext request, IngestResult.Accepted result, PendingRequest pending) {
    var appendOutcome = batcher.add(pending);
    if (request.level() != AckLevel.ACCEPTED) {
      return new IngestHandle(
          appendOutcome.thenCompose(outcome -> toResult(request, result, pending, outcome)),
          appendOutcome.thenAccept(_ -> {}));
    }
    recordPolicy.mirror().offer(pending);
    int records = pending.acceptedCount(); // not the part, whose bytes are in the entry already
    long receivedNanos = pending.receivedNanos();
    return new IngestHandle(
        CompletableFuture.completedFuture(result),
        appendOutcome.thenAccept(
            outcome -> {
              if (outcome.result() instanceof AppendResult.Accepted) {
                recordAccepted(request, records, receivedNanos);
              } else { // only at our end
                lostRecords.add(records);
                metrics.recordLost(request.protocol(), records);
              }
            }));
  }

  /** An entry by itself: the spool remembers the key in the step that takes the entry. */
  private IngestHandle appendOnce(
      RequestContext request,
      IngestResult.Accepted result,
      PendingRequest pending,
      IdempotencyStore.IdempotencyKey key) {
    var released = new CompletableFuture<Void>();
    var response =
        idempotencyStore
            .claim(key)
            .thenCompose(
                claimResult -> onClaimResult(request, result, pending, claimResult, released))
            .exceptionally(e -> recordUnavailable(request, pending, Duration.ZERO, e.toString()))
            .toCompletableFuture();
    var _ = response.whenComplete((_, _) -> released.complete(null));
    return new IngestHandle(response, released);
  }

  private CompletionStage<IngestResult> onClaimResult(
      RequestContext request,
      IngestResult.Accepted result,
      PendingRequest pending,
      ClaimResult claimResult,
      CompletableFuture<Void> released) {
    return switch (claimResult) {
      case ClaimResult.Granted(var claim) -> {
        var batch = batcher.merge(List.of(pending));
        yield idempotencyStore
            .append(batch, claim)
            .exceptionally(e -> new AppendResult.Unavailable(Duration.ZERO, e.toString()))
            .thenCompose(appendResult -> releaseClaimOnFailure(claim, appendResult))
            .thenCompose(
                appendResult -> {
                  released.complete(null);
                  return toResult(
                      request, result, pending, new AppendOutcome(appendResult, batch.firstId()));
                });
      }
      case ClaimResult.Completed() -> {
        metrics.recordReplayed(request.protocol(), pending.acceptedCount());
        yield CompletableFuture.completedStage(result.asReplay());
      }
      case ClaimResult.InProgress() -> {
        metrics.recordConflict(request.protocol(), pending.acceptedCount());
        yield CompletableFuture.completedStage(
            new IngestResult.InProgress(admission.retryAfterConflict()));
      }
      case ClaimResult.KeyReused() -> {
        metrics.recordConflict(request.protocol(), pending.acceptedCount());
        yield CompletableFuture.completedStage(new IngestResult.IdempotencyKeyReused());
      }
      case ClaimResult.Unavailable(var retryAfter, var reason) ->
          CompletableFuture.completedStage(recordUnavailable(request, pending, retryAfter, reason));
    };
  }

  /** A failure is not remembered: the client may come again under the same key. */
  private CompletionStage<AppendResult> releaseClaimOnFailure(
      Claim claim, AppendResult appendResult) {
    return appendResult instanceof AppendResult.Unavailable
        ? idempotencyStore.release(claim).handle((_, _) -> appendResult)
        : CompletableFuture.completedStage(appendResult);
  }

  private CompletionStage<IngestResult> toResult(
      RequestContext request,
      IngestResult.Accepted result,
      PendingRequest pending,
      AppendOutcome outcome) {
    return switch (outcome.result()) {
      case AppendResult.Accepted(var receipt) -> {
        recordAccepted(request, pending.acceptedCount(), pending.receivedNanos());
        recordPolicy.mirror().offer(pending);
        yield request.level() == AckLevel.STORED
            ? storedAcks
                .await(receipt, outcome.firstId(), pending.acceptedCount())
                .thenApply(deadLetters -> confirmedResult(result, deadLetters))
            : CompletableFuture.completedStage(result);
      }
      case AppendResult.Unavailable(var retryAfter, var reason, _) ->
          CompletableFuture.completedStage(recordUnavailable(request, pending, retryAfter, reason));
      case AppendResult.ClaimLost() ->
          CompletableFuture.completedStage(
              recordUnavailable(
                  request, pending, Duration.ZERO, "another took over the idempotency key"));
    };
  }

  /**
   * To send again what is safe and not yet stored would be wrong: the answer says what is known.
   */
  private static IngestResult confirmedResult(
      IngestResult.Accepted result, OptionalInt deadLetters) {
    return deadLetters.isPresent()
        ? result.storedWithDeadLetters(deadLetters.getAsInt())
        : result.downgradedTo(AckLevel.DURABLE);
  }

  private void recordAccepted(RequestContext request, int records, long receivedNanos) {
    var took = Duration.ofNanos(nanos(clock.instant()) - receivedNanos);
    metrics.recordAccepted(request.protocol(), records, took);
  }

  private IngestResult recordUnavailable(
      RequestContext request, PendingRequest pending, Duration retryAfter, String reason) {
    LOG.log(System.Logger.Level.DEBUG, "logs turned away: {0}", reason);
    metrics.recordUnavailable(request.protocol(), pending.acceptedCount());
    return new IngestResult.Unavailable(admission.retryAfterSpoolFailure(retryAfter));
  }

  /** Counts a request that was turned away before any of its body was read. */
  public void recordShed(String protocol) {
    metrics.recordShed(protocol);
  }

  /**
   * Gives logs that were answered and are not in the spool yet their last chance. Call when no more
   * come; blocks for {@code patience} at most.
   *
   * @return how many are lost
   */
  public long close(Duration timeout) {
    batcher.close(timeout);
    long records = lostRecords.sum();
    if (records > 0) {
      LOG.log(
          System.Logger.Level.ERROR,
          "{0} logs are lost that were accepted and never reached the spool",
          Long.toString(records));
    }
    return records;
  }

  /** Counts a request that an entrance had to refuse before there were any records to judge. */
  public void recordMalformed(String protocol) {
    metrics.recordMalformed(protocol);
  }

  private static long nanos(Instant instant) {
    return Math.addExact(
        Math.multiplyExact(instant.getEpochSecond(), 1_000_000_000L), instant.getNano());
  }
}
