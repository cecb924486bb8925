package dev.sluice.core.ingest;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.port.IdempotencyStore.IdempotencyKey;
import dev.sluice.core.port.IngestMetrics;
import dev.sluice.core.port.TimeoutScheduler;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * The ingest path of all protocols and transports: it admits a request, reserves its memory,
 * decodes its body, submits its records, limits the wait for the spool, and releases the memory. A
 * transport only reads the body and writes the response.
 *
 * <p>Thread-safe; no method blocks. A body that takes long to decode is decoded on the decode
 * executor, all others on the calling thread, which is usually an event loop.
 */
public final class IngestPipeline {
  private static final System.Logger LOG = System.getLogger(IngestPipeline.class.getName());

  private static final Duration DECODE_ERROR_LOG_INTERVAL = Duration.ofSeconds(10);

  private final LogRateLimit decodeErrorLog =
      new LogRateLimit(DECODE_ERROR_LOG_INTERVAL, System::nanoTime);
  private final IngestService ingest;
  private final MemoryBudget budget;
  private final AdmissionController admission;
  private final Limits limits;
  private final IngestMetrics metrics;
  private final Executor decodeExecutor;
  private final TimeoutScheduler timeoutScheduler;
  private final Duration ackTimeout;

  /**
   * @param ingest the ingest service
   * @param budget the memory budget of all requests together
   * @param admission the admission control, which also sets the retry delay of rejected requests
   * @param decodeExecutor the executor of long decodes
   * @param timeoutScheduler the scheduler of {@code ackTimeout}
   * @param ackTimeout the maximum wait for the spool; the wait for the store has its own timeout
   */
  public IngestPipeline(
      IngestService ingest,
      MemoryBudget budget,
      AdmissionController admission,
      Limits limits,
      IngestMetrics metrics,
      Executor decodeExecutor,
      TimeoutScheduler timeoutScheduler,
      Duration ackTimeout) {
    this.ingest = ingest;
    this.budget = budget;
    this.admission = admission;
    this.limits = limits;
    this.metrics = metrics;
    this.decodeExecutor = decodeExecutor;
    this.timeoutScheduler = timeoutScheduler;
    this.ackTimeout = ackTimeout;
  }

  /**
   * Decides whether to read the body of a request.
   *
   * @return the reason to reject the request; null when admission control admits it
   */
  public IngestResult.@Nullable Unavailable checkAdmission(RequestContext context) {
    var unavailable = admission.check(context.ackLevel());
    if (unavailable != null) {
      metrics.recordShed(context.protocol());
    }
    return unavailable;
  }

  /**
   * Creates the memory reservation of a request.
   *
   * @param reservedBytes the bytes that the transport has already reserved of the budget
   */
  public MemoryReservation newReservation(long reservedBytes) {
    return new MemoryReservation(budget, reservedBytes);
  }

  /** Returns the result of a request that the memory budget does not admit. */
  public IngestResult.Unavailable overBudget() {
    return new IngestResult.Unavailable(admission.retryAfterMemoryPressure());
  }

  /** Returns the result of a request that fails for a reason that the client did not cause. */
  public IngestResult.Unavailable failed() {
    return new IngestResult.Unavailable(admission.retryAfterSpoolFailure());
  }

  /** Counts a request that a transport rejects before its body is decoded. */
  public void recordMalformed(String protocol) {
    metrics.recordMalformed(protocol);
  }

  /**
   * Ingests a request whose body is complete.
   *
   * @param memory the memory of the request, which holds the body; the pipeline closes it when the
   *     memory is no longer used, which may be before or long after the result
   * @param body the body, of which the caller passes ownership
   * @return completes with the result for the client; never fails
   */
  public CompletableFuture<IngestResult> ingest(
      RequestContext context,
      MemoryReservation memory,
      byte[] body,
      BodyEncoding encoding,
      PayloadDecoder decoder) {
    int maxInlineBytes =
        decoder.decompresses()
            ? Math.min(BodyEncoding.MAX_INLINE_UNBOUNDED_BYTES, encoding.maxInlineBytes())
            : encoding.maxInlineBytes();
    if (body.length <= maxInlineBytes) {
      return decodeAndSubmit(context, memory, body, encoding, decoder);
    }
    return CompletableFuture.completedFuture(body)
        .thenComposeAsync(
            bytes -> decodeAndSubmit(context, memory, bytes, encoding, decoder), decodeExecutor)
        .exceptionally(
            e -> { // the executor is shut down
              memory.close();
              return onFailure(e);
            });
  }

  private CompletableFuture<IngestResult> decodeAndSubmit(
      RequestContext context,
      MemoryReservation memory,
      byte[] body,
      BodyEncoding encoding,
      PayloadDecoder decoder) {
    var released = new CompletableFuture<@Nullable Void>();
    var _ = released.thenRun(memory::close);
    IngestResult failure;
    try {
      if (context.ackLevel() == AckLevel.ACCEPTED) {
        memory.add(IngestService.REQUEST_OVERHEAD_BYTES);
      }
      var decoded = decode(context, memory, body, encoding, decoder);
      var result =
          ingest.accept(
              context, decoded.key(), decoded.payload(), memory, () -> released.complete(null));
      return withinAckTimeout(result, released);
    } catch (DecodeException e) {
      metrics.recordMalformed(context.protocol());
      failure =
          switch (e.kind()) {
            case MALFORMED -> new IngestResult.DecodeFailure(e.detail(), false);
            case DAMAGED -> new IngestResult.DecodeFailure(e.detail(), true);
            case TOO_LARGE -> new IngestResult.TooLarge(e.detail());
          };
    } catch (UnexpectedDecodeException e) {
      failure = onDecodeError(context.protocol(), e.getCause());
    } catch (MemoryBudgetExceededException _) {
      failure = overBudget();
    } catch (RuntimeException | Error e) { // also an OutOfMemoryError: the client needs a response
      failure = onFailure(e);
    }
    released.complete(null);
    return CompletableFuture.completedFuture(failure);
  }

  private record DecodedRequest(@Nullable IdempotencyKey key, OtlpPayload payload) {}

  private DecodedRequest decode(
      RequestContext context,
      MemoryReservation memory,
      byte[] body,
      BodyEncoding encoding,
      PayloadDecoder decoder) {
    try {
      var bytes = encoding.decode(body, limits.maxRequestBytes(), memory);
      var key = decoder.idempotencyKey(context, bytes);
      var payload = decoder.decode(bytes, limits, memory);
      if (payload.bytes() != bytes) {
        memory.add(payload.bytes().length);
      }
      return new DecodedRequest(key, payload);
    } catch (DecodeException | MemoryBudgetExceededException e) {
      throw e;
    } catch (RuntimeException | StackOverflowError e) {
      throw new UnexpectedDecodeException(e);
    }
  }

  /**
   * Returns the result of a request for which a decoder fails unexpectedly. A retry would fail
   * again, so the result is that of a malformed request.
   */
  private IngestResult onDecodeError(String protocol, @Nullable Throwable failure) {
    metrics.recordMalformed(protocol);
    metrics.recordDecodeError(protocol);
    if (decodeErrorLog.tryAcquire()) { // any client can cause the line
      LOG.log(
          System.Logger.Level.ERROR,
          "decoder failed, request of protocol " + protocol + " rejected as malformed",
          failure);
    }
    return new IngestResult.DecodeFailure("the gateway failed to decode the request", false);
  }

  /**
   * Returns the result, or {@link IngestResult.Unavailable} when the append to the spool does not
   * complete in time. A timeout does not cancel the append; its records are counted when it
   * completes.
   */
  private CompletableFuture<IngestResult> withinAckTimeout(
      CompletableFuture<IngestResult> result, CompletableFuture<@Nullable Void> released) {
    if (result.isDone()) {
      return result;
    }
    return timeoutScheduler
        .orTimeout(ackTimeout, CompletableFuture.anyOf(result, released))
        .thenCompose(_ -> result)
        .exceptionally(_ -> failed());
  }

  private IngestResult onFailure(Throwable failure) {
    LOG.log(System.Logger.Level.WARNING, "ingest failed, the client may retry", failure);
    return failed();
  }
}
