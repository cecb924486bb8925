package dev.sluice.api.grpc;

import dev.sluice.api.decode.DecodeException;
import dev.sluice.core.ingest.AckLevel;
import dev.sluice.core.ingest.AdmissionController;
import dev.sluice.core.ingest.IngestHandle;
import dev.sluice.core.ingest.IngestOptions;
import dev.sluice.core.ingest.IngestResult;
import dev.sluice.core.ingest.IngestService;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.ingest.OtlpPayload;
import dev.sluice.core.ingest.OtlpResponses;
import dev.sluice.core.port.TimeoutScheduler;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ForkJoinPool;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The ingest path of all gRPC protocols: it decodes a message, submits it to ingest and releases
 * its memory. Safe for use by many threads; no method blocks.
 */
public final class GrpcIngestPipeline {
  private static final Logger LOG = LoggerFactory.getLogger(GrpcIngestPipeline.class);

  /** Larger messages are validated off the event loop, so that other connections do not wait. */
  private static final int MAX_EVENT_LOOP_BYTES = 1 << 20;

  static final String UNAVAILABLE_MESSAGE = "logs cannot be accepted at the moment";

  private static final Metadata.Key<byte[]> STATUS_DETAILS =
      Metadata.Key.of("grpc-status-details-bin", Metadata.BINARY_BYTE_MARSHALLER);

  private final IngestService ingest;
  private final MemoryBudget budget;
  private final AdmissionController admission;
  private final TimeoutScheduler timeoutScheduler;
  private final Duration ackTimeout;

  /**
   * @param ingest the ingest service
   * @param budget the memory budget of all requests together
   * @param admission the admission control, which also sets the retry delay of rejected requests
   * @param timeoutScheduler the scheduler of {@code ackTimeout}
   * @param ackTimeout maximum time until the append completes; then the status is UNAVAILABLE with
   *     RetryInfo
   */
  public GrpcIngestPipeline(
      IngestService ingest,
      MemoryBudget budget,
      AdmissionController admission,
      TimeoutScheduler timeoutScheduler,
      Duration ackTimeout) {
    this.ingest = ingest;
    this.budget = budget;
    this.admission = admission;
    this.timeoutScheduler = timeoutScheduler;
    this.ackTimeout = ackTimeout;
  }

  /** Returns the reason to reject a call now; null when admission control admits it. */
  IngestResult.@Nullable Unavailable checkAdmission(String protocol, AckLevel level) {
    var unavailable = admission.check(level);
    if (unavailable != null) {
      ingest.recordShed(protocol);
    }
    return unavailable;
  }

  /**
   * Ingests one complete message of the current call. The future never fails: an error that the
   * client did not cause is {@link IngestResult.Unavailable}.
   *
   * @param decoder the decoder of the message to OTLP, which throws {@link DecodeException} for an
   *     invalid message
   */
  CompletableFuture<IngestResult> ingest(
      String protocol, RawMessage message, Function<byte[], OtlpPayload> decoder) {
    var call = IngestServerCall.current();
    var options = call == null ? IngestOptions.DEFAULT : call.options();
    var result = process(protocol, options, message, decoder);
    return call == null
        ? result
        : result.thenApply(
            ingestResult -> {
              call.recordResult(ingestResult);
              return ingestResult;
            });
  }

  private CompletableFuture<IngestResult> process(
      String protocol,
      IngestOptions options,
      RawMessage message,
      Function<byte[], OtlpPayload> decoder) {
    long reserved = InboundMemoryTracer.takeOver();
    var failure = message.failure();
    if (failure != null) {
      budget.release(reserved);
      if (failure instanceof IngestResult.Unavailable) { // not an error of the client
        return overBudget();
      }
      ingest.recordMalformed(protocol);
      return CompletableFuture.completedFuture(failure);
    }
    // a stream is admitted message by message, not as a call
    var unavailable = checkAdmission(protocol, options.level());
    if (unavailable != null) {
      budget.release(reserved);
      return CompletableFuture.completedFuture(unavailable);
    }
    var bytes = message.bytes();
    long needed = bytes.length;
    if (options.level() == AckLevel.ACCEPTED) {
      needed += IngestService.REQUEST_OVERHEAD_BYTES;
    }
    if (!resizeReservation(needed, reserved)) {
      return overBudget();
    }
    long total = needed;
    if (bytes.length <= MAX_EVENT_LOOP_BYTES) {
      return decodeAndSubmit(protocol, options, bytes, decoder, total);
    }
    return CompletableFuture.completedFuture(bytes)
        .thenComposeAsync(
            all -> decodeAndSubmit(protocol, options, all, decoder, total),
            ForkJoinPool.commonPool());
  }

  private CompletableFuture<IngestResult> overBudget() {
    return CompletableFuture.completedFuture(
        new IngestResult.Unavailable(admission.retryAfterMemoryPressure()));
  }

  private CompletableFuture<IngestResult> decodeAndSubmit(
      String protocol,
      IngestOptions options,
      byte[] bytes,
      Function<byte[], OtlpPayload> decoder,
      long reserved) {
    long total = reserved;
    IngestHandle handle;
    try {
      var request = options.toContext(protocol, bytes);
      var payload = decoder.apply(bytes);
      if (payload.bytes() != bytes) {
        if (!resizeReservation(total + payload.bytes().length, total)) {
          return overBudget();
        }
        total += payload.bytes().length;
      }
      handle = ingest.accept(request, payload);
    } catch (DecodeException e) {
      budget.release(total);
      ingest.recordMalformed(protocol);
      return CompletableFuture.completedFuture(
          e.tooLarge()
              ? new IngestResult.TooLarge(e.detail())
              : new IngestResult.Malformed(e.detail()));
    } catch (RuntimeException e) {
      budget.release(total);
      return CompletableFuture.completedFuture(handleFailure(e));
    }
    long all = total;
    var _ = handle.released().thenRun(() -> budget.release(all));
    return handle.resultWithin(timeoutScheduler, ackTimeout, admission::retryAfterSpoolFailure);
  }

  /** Changes a reservation to {@code now} bytes; if that fails, releases {@code before} bytes. */
  private boolean resizeReservation(long now, long before) {
    if (now > before && !budget.reserve(now - before)) {
      budget.release(before);
      return false;
    }
    if (now < before) {
      budget.release(before - now);
    }
    return true;
  }

  private IngestResult handleFailure(Throwable failure) {
    LOG.warn("ingest failed, responding UNAVAILABLE", failure);
    return new IngestResult.Unavailable(admission.retryAfterSpoolFailure());
  }

  /** Returns UNAVAILABLE with a {@code RetryInfo}, after which clients retry. */
  static StatusException unavailable(Duration retryAfter) {
    return unavailable(UNAVAILABLE_MESSAGE, retryAfter);
  }

  static StatusException unavailable(String message, Duration retryAfter) {
    return retryable(Status.UNAVAILABLE, message, retryAfter);
  }

  /** Returns ABORTED with a {@code RetryInfo}: the same request is in progress. */
  static StatusException requestInProgress(Duration retryAfter) {
    return retryable(Status.ABORTED, IngestResult.InProgress.REASON, retryAfter);
  }

  /** Returns FAILED_PRECONDITION: the client must use another idempotency key. */
  static StatusException idempotencyKeyReused() {
    return Status.FAILED_PRECONDITION
        .withDescription(IngestResult.IdempotencyKeyReused.REASON)
        .asException();
  }

  private static StatusException retryable(Status status, String message, Duration retryAfter) {
    var trailers = new Metadata();
    trailers.put(
        STATUS_DETAILS, OtlpResponses.status(status.getCode().value(), message, retryAfter));
    return status.withDescription(message).asException(trailers);
  }
}
