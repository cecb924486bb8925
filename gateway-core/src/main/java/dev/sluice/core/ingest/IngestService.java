package dev.sluice.core.ingest;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.LogIdGenerator;
import dev.sluice.core.ingest.RequestBatcher.AppendOutcome;
import dev.sluice.core.ingest.RequestBatcher.PendingRequest;
import dev.sluice.core.otlp.MalformedOtlpException;
import dev.sluice.core.otlp.OtlpWalker;
import dev.sluice.core.otlp.RecordExtractor;
import dev.sluice.core.port.DeliveryStatusReader;
import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.IdempotencyStore.Claim;
import dev.sluice.core.port.IdempotencyStore.ClaimResult;
import dev.sluice.core.port.IdempotencyStore.IdempotencyKey;
import dev.sluice.core.port.IngestMetrics;
import dev.sluice.core.port.Redactor;
import dev.sluice.core.port.Scheduler;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.AppendMode;
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
 * The ingest service, which the {@link IngestPipeline} calls: it validates and counts each record
 * once, and appends the accepted records to the spool.
 *
 * <p>Thread-safe; only {@link #close} blocks.
 */
public final class IngestService {

  /** The maximum number of rejections with details per request; further ones are only counted. */
  public static final int MAX_REJECTIONS = 10_000;

  /**
   * The memory in bytes, in addition to its logs, that a request of level {@link AckLevel#ACCEPTED}
   * reserves. Such a request may stay in memory for long, so that many small ones must not use more
   * memory than they reserve.
   */
  public static final int REQUEST_OVERHEAD_BYTES = 1024;

  private static final System.Logger LOG = System.getLogger(IngestService.class.getName());

  /**
   * The limits for merging requests into one spool entry. A request that exceeds a limit alone is
   * an entry by itself.
   *
   * @param maxRecords the maximum number of records in an entry of several requests
   * @param maxBytes the maximum size in OTLP bytes of an entry of several requests
   * @param linger the maximum time that a request waits for others, at most a few milliseconds
   */
  public record BatchLimits(int maxRecords, int maxBytes, Duration linger) {
    public BatchLimits {
      if (maxRecords <= 0 || maxBytes <= 0 || linger.isNegative()) {
        throw new IllegalArgumentException(
            "batch limits must be positive: %d records, %d bytes, linger %s"
                .formatted(maxRecords, maxBytes, linger));
      }
    }
  }

  /**
   * The filter, the redaction and the mirror of log records.
   *
   * @param allowlist the source of the allowlist, called once per request
   * @param redactor the redaction of the accepted records
   * @param mirror the console mirror of the accepted records
   */
  public record RecordPolicy(
      Supplier<BodyAllowlist> allowlist, Redactor redactor, ConsoleMirror mirror) {
    /** A policy that accepts every valid log and mirrors none. */
    public static final RecordPolicy ACCEPT_ALL =
        new RecordPolicy(() -> BodyAllowlist.ALLOW_ALL, Redactor.NONE, ConsoleMirror.OFF);
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
   * @param deadLetterLookup the lookup of dead letters, for requests of level {@link
   *     AckLevel#STORED}
   * @param admission the source of retry delays for rejected requests
   * @param recordPolicy the filter and the mirror of valid records
   * @param storedAckTimeout the maximum time that the response to a request of level {@link
   *     AckLevel#STORED} waits for the store, after its logs are durable
   */
  public IngestService(
      Spool spool,
      DeliveryStatusReader deliveryStatuses,
      IdempotencyStore idempotencyStore,
      DeadLetterLookup deadLetterLookup,
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
    this.storedAcks =
        new StoredAckTracker(deliveryStatuses, deadLetterLookup, scheduler, storedAckTimeout);
    this.batcher = new RequestBatcher(spool, new LogIdGenerator(clock), scheduler, batchLimits);
  }

  /**
   * Validates the records of a request and appends the accepted ones to the spool.
   *
   * @param key the idempotency key; null when the request has none
   * @param memory the memory of the request, which holds the payload
   * @param onReleased called when the memory of the request is no longer used, which may be before
   *     or long after the result; not called when this method throws
   * @return completes with the result for the client; never fails
   * @throws UnexpectedDecodeException when the walker fails unexpectedly
   * @throws MemoryBudgetExceededException when some records are excluded or redacted, and the
   *     budget does not admit a copy of the others
   */
  CompletableFuture<IngestResult> accept(
      RequestContext context,
      @Nullable IdempotencyKey key,
      OtlpPayload payload,
      MemoryReservation memory,
      Runnable onReleased) {
    var request = key == null ? context : context.withDurableAck();
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
      return completed(new IngestResult.Malformed(String.valueOf(e.getMessage())), onReleased);
    } catch (RuntimeException | StackOverflowError e) {
      throw new UnexpectedDecodeException(e);
    } finally {
      walkers.add(walker); // another thread may use it from here on
    }
    int total = records + payload.rejectedCount();
    if (total > limits.maxRecords()) {
      metrics.recordMalformed(protocol);
      return completed(
          new IngestResult.TooLarge(total + " log records, limit " + limits.maxRecords()),
          onReleased);
    }
    if (expanded > limits.maxExpandedBytes()) {
      metrics.recordMalformed(protocol);
      return completed(
          new IngestResult.TooLarge(
              "%d bytes when each record carries its resource and scope, limit %d"
                  .formatted(expanded, limits.maxExpandedBytes())),
          onReleased);
    }
    var excluded = collector.excludedOrdinals();
    int acceptedCount = records - collector.rejectedCount() - collector.filteredCount();
    if (acceptedCount > 0 && acceptedCount < records) {
      memory.add(payload.length()); // for the copy without the excluded records
    }
    // the bytes of the client as they are, unless a record is excluded or redacted
    byte[] otlp = payload.bytes();
    int length = payload.length();
    int expandedBytes = (int) (expanded - collector.filteredBytes());
    if (acceptedCount > 0 && !excluded.isEmpty()) {
      otlp = RecordExtractor.extract(otlp, length, ordinal -> !excluded.get(ordinal));
      length = otlp.length;
    }
    byte[] redacted =
        acceptedCount > 0 ? recordPolicy.redactor().redact(request.tenant(), otlp, length) : null;
    if (redacted != null) {
      memory.add(redacted.length);
      otlp = redacted;
      length = redacted.length;
      expandedBytes = OtlpWalker.expandedBytes(redacted);
    }
    metrics.recordReceived(protocol, total, payload.length());
    if (payload.unknownFields() > 0) {
      metrics.recordUnknownFields(protocol, payload.unknownFields());
    }
    if (payload.unknownTimestamps() > 0) {
      metrics.recordUnknownTimestamps(protocol, payload.unknownTimestamps());
    }
    if (collector.filteredCount() > 0) {
      metrics.recordFiltered(protocol, collector.filteredCount());
    }
    int rejectedCount = collector.rejectedCount() + payload.rejectedCount();
    if (rejectedCount > 0) {
      metrics.recordRejected(protocol, rejectedCount);
    }
    var result =
        new IngestResult.Accepted(
            acceptedCount,
            collector.rejections(),
            rejectedCount,
            collector.filteredCount(),
            collector.items(records),
            request.ackLevel(),
            0,
            false);
    if (acceptedCount == 0) {
      return completed(result, onReleased);
    }
    var pending =
        new PendingRequest(
            request.tenant(),
            request.ackLevel() == AckLevel.ACCEPTED,
            nanos(now),
            otlp,
            length,
            acceptedCount,
            expandedBytes,
            new CompletableFuture<>());
    return key == null
        ? append(request, result, pending, onReleased)
        : appendWithKey(request, result, pending, key, onReleased);
  }

  private static CompletableFuture<IngestResult> completed(
      IngestResult result, Runnable onReleased) {
    onReleased.run();
    return CompletableFuture.completedFuture(result);
  }

  private CompletableFuture<IngestResult> append(
      RequestContext request,
      IngestResult.Accepted result,
      PendingRequest pending,
      Runnable onReleased) {
    var appendOutcome = batcher.add(pending);
    if (request.ackLevel() != AckLevel.ACCEPTED) {
      var response =
          appendOutcome.thenCompose(outcome -> toResult(request, result, pending, outcome));
      var _ = appendOutcome.thenRun(onReleased);
      return response;
    }
    recordPolicy.mirror().offer(pending);
    // the lambda below must not retain the request, whose bytes the spool entry already has
    int records = pending.acceptedCount();
    long receivedNanos = pending.receivedNanos();
    var _ =
        appendOutcome
            .thenAccept(
                outcome -> {
                  if (outcome.result() instanceof AppendResult.Accepted) {
                    recordAccepted(request, records, receivedNanos);
                  } else { // only when close() gives up
                    lostRecords.add(records);
                    metrics.recordLost(request.protocol(), records);
                  }
                })
            .thenRun(onReleased);
    return CompletableFuture.completedFuture(result);
  }

  /**
   * Appends the request under its idempotency key, as a spool entry of its own, since the spool
   * stores the key in the same step as the entry.
   */
  private CompletableFuture<IngestResult> appendWithKey(
      RequestContext request,
      IngestResult.Accepted result,
      PendingRequest pending,
      IdempotencyKey key,
      Runnable onReleased) {
    var released = new CompletableFuture<Void>();
    var _ = released.thenRun(onReleased);
    var response =
        idempotencyStore
            .claim(key)
            .thenCompose(
                claimResult -> onClaimResult(request, result, pending, claimResult, released))
            .exceptionally(e -> toUnavailable(request, pending, Duration.ZERO, e.toString()))
            .toCompletableFuture();
    var _ = response.whenComplete((_, _) -> released.complete(null));
    return response;
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
            .append(batch, claim, AppendMode.SYNC)
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
      case ClaimResult.IdempotencyKeyReused() -> {
        metrics.recordConflict(request.protocol(), pending.acceptedCount());
        yield CompletableFuture.completedStage(new IngestResult.IdempotencyKeyReused());
      }
      case ClaimResult.Unavailable(var retryAfter, var reason) ->
          CompletableFuture.completedStage(toUnavailable(request, pending, retryAfter, reason));
    };
  }

  /** Releases the claim of a failed append, so that the client can retry with the same key. */
  private CompletionStage<AppendResult> releaseClaimOnFailure(
      Claim claim, AppendResult appendResult) {
    return appendResult instanceof AppendResult.Unavailable
            || appendResult instanceof AppendResult.Refused
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
        yield request.ackLevel() == AckLevel.STORED
            ? storedAcks
                .await(receipt, outcome.firstId(), pending.acceptedCount())
                .thenApply(deadLetters -> confirmedResult(result, deadLetters))
            : CompletableFuture.completedStage(result);
      }
      case AppendResult.Unavailable(var retryAfter, var reason, _) ->
          CompletableFuture.completedStage(toUnavailable(request, pending, retryAfter, reason));
      case AppendResult.Refused() ->
          CompletableFuture.completedStage(
              toUnavailable(
                  request, pending, Duration.ZERO, "the spool has refused the append id"));
      case AppendResult.ClaimLost() ->
          CompletableFuture.completedStage(
              toUnavailable(
                  request, pending, Duration.ZERO, "another request owns the idempotency key"));
    };
  }

  /**
   * Returns the result of a request of level {@link AckLevel#STORED}. When the status is unknown in
   * time, the level is {@link AckLevel#DURABLE} and not an error, since a retry would duplicate the
   * logs.
   */
  private static IngestResult confirmedResult(
      IngestResult.Accepted result, OptionalInt deadLetters) {
    return deadLetters.isPresent()
        ? result.storedWithDeadLetters(deadLetters.getAsInt())
        : result.downgradedTo(AckLevel.DURABLE);
  }

  private void recordAccepted(RequestContext request, int records, long receivedNanos) {
    var duration = Duration.ofNanos(nanos(clock.instant()) - receivedNanos);
    metrics.recordAccepted(request.protocol(), records, duration);
  }

  private IngestResult toUnavailable(
      RequestContext request, PendingRequest pending, Duration retryAfter, String reason) {
    LOG.log(
        System.Logger.Level.DEBUG,
        "request rejected as unavailable, client may retry: {0}",
        reason);
    metrics.recordUnavailable(request.protocol(), pending.acceptedCount());
    return new IngestResult.Unavailable(admission.retryAfterSpoolFailure(retryAfter));
  }

  /**
   * Makes last attempts to append acknowledged logs that are not in the spool yet. Call it when no
   * more requests arrive. Blocks for at most {@code timeout}.
   *
   * @return the number of lost logs
   */
  public long close(Duration timeout) {
    batcher.close(timeout);
    long records = lostRecords.sum();
    if (records > 0) {
      LOG.log(
          System.Logger.Level.ERROR,
          "{0} accepted logs are lost: the spool did not accept them before the shutdown timeout",
          Long.toString(records));
    }
    return records;
  }

  private static long nanos(Instant instant) {
    return Math.addExact(
        Math.multiplyExact(instant.getEpochSecond(), 1_000_000_000L), instant.getNano());
  }
}
