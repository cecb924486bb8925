package dev.sluice.api.http;

import dev.sluice.api.decode.DecodeException;
import dev.sluice.core.ingest.AckLevel;
import dev.sluice.core.ingest.AdmissionController;
import dev.sluice.core.ingest.IngestOptions;
import dev.sluice.core.ingest.IngestResult;
import dev.sluice.core.ingest.IngestService;
import dev.sluice.core.ingest.IngestService.RequestContext;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.ingest.OtlpPayload;
import dev.sluice.core.port.TimeoutScheduler;
import java.time.Duration;
import java.util.function.Function;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.http.server.reactive.ServerHttpResponseDecorator;
import org.springframework.web.reactive.function.server.ServerRequest;
import reactor.core.publisher.Mono;
import reactor.netty.channel.AbortedException;
import reactor.netty.http.server.HttpServerResponse;

/**
 * The ingest path of all HTTP protocols: it reads and decodes a request, submits it to ingest and
 * releases its memory.
 */
final class HttpIngestPipeline {
  private static final Logger LOG = LoggerFactory.getLogger(HttpIngestPipeline.class);

  private final IngestService ingest;
  private final RequestBodyReader bodyReader;
  private final MemoryBudget budget;
  private final AdmissionController admission;
  private final TimeoutScheduler timeoutScheduler;
  private final Duration ackTimeout;

  HttpIngestPipeline(
      IngestService ingest,
      RequestBodyReader bodyReader,
      MemoryBudget budget,
      AdmissionController admission,
      TimeoutScheduler timeoutScheduler,
      Duration ackTimeout) {
    this.ingest = ingest;
    this.bodyReader = bodyReader;
    this.budget = budget;
    this.admission = admission;
    this.timeoutScheduler = timeoutScheduler;
    this.ackTimeout = ackTimeout;
  }

  /**
   * The format of a request body.
   *
   * @param protocol the protocol name for metrics
   * @param readerFactory the factory of the reader of a body
   * @param compressed whether the decoder decompresses the body, so that a short body can take long
   */
  record PayloadFormat(
      String protocol, Function<byte[], PayloadReader> readerFactory, boolean compressed) {
    PayloadFormat(String protocol, Function<byte[], OtlpPayload> decoder) {
      this(protocol, body -> new PassThroughReader(protocol, body, decoder), false);
    }
  }

  /** A reader of one body: first of its identity, then of its logs. */
  interface PayloadReader {
    /** Returns the idempotency key, if any, and the identity of the body. */
    RequestContext request(IngestOptions options);

    /** Decodes the body to OTLP; reserves the memory of what it decompresses. */
    OtlpPayload decode(MemoryReservation reservation);
  }

  private record PassThroughReader(
      String protocol, byte[] body, Function<byte[], OtlpPayload> decoder)
      implements PayloadReader {
    @Override
    public RequestContext request(IngestOptions options) {
      return options.toContext(protocol, body);
    }

    @Override
    public OtlpPayload decode(MemoryReservation reservation) {
      return decoder.apply(body);
    }
  }

  /**
   * Ingests a request. It emits {@link IngestResult.Accepted}; every other outcome is a {@link
   * HttpProblemException}. Admission control rejects a request before its body is read.
   */
  Mono<IngestResult.Accepted> ingest(ServerRequest request, PayloadFormat format) {
    var protocol = format.protocol();
    disableCompression(request.exchange().getResponse());
    return Mono.using(
            () -> new MemoryReservation(budget, admission::retryAfterMemoryPressure),
            reservation ->
                Mono.defer(() -> admit(request, format, reservation))
                    .doOnError(HttpProblemException.class, e -> recordMalformed(protocol, e))
                    .flatMap(admitted -> submit(admitted, format, reservation)),
            MemoryReservation::close)
        .map(HttpIngestPipeline::requireAccepted)
        .onErrorMap(this::toHttpProblem);
  }

  private record AdmittedRequest(RequestContext request, byte[] body, PayloadReader reader) {}

  private Mono<AdmittedRequest> admit(
      ServerRequest request, PayloadFormat format, MemoryReservation reservation) {
    var options = RequestHeaders.ingestOptions(request);
    var unavailable = admission.check(options.level());
    if (unavailable != null) {
      ingest.recordShed(format.protocol());
      throw HttpProblemException.spoolUnavailable(unavailable.retryAfter());
    }
    if (options.level() == AckLevel.ACCEPTED) {
      reservation.add(IngestService.REQUEST_OVERHEAD_BYTES);
    }
    return bodyReader
        .read(request, reservation, format.compressed())
        .map(
            body ->
                mapDecodeErrors(() -> admit(options, body, format.readerFactory().apply(body))));
  }

  private static AdmittedRequest admit(IngestOptions options, byte[] body, PayloadReader reader) {
    return new AdmittedRequest(reader.request(options), body, reader);
  }

  /** Disables response compression, which would cost more than it saves on a short response. */
  private static void disableCompression(ServerHttpResponse response) {
    if (ServerHttpResponseDecorator.getNativeResponse(response)
        instanceof HttpServerResponse netty) {
      netty.compression(false);
    }
  }

  private Mono<IngestResult> submit(
      AdmittedRequest admitted, PayloadFormat format, MemoryReservation reservation) {
    var payload = decodePayload(format, admitted.reader(), reservation);
    if (payload.bytes() != admitted.body()) {
      reservation.add(payload.bytes().length);
    }
    var retained = reservation.retain();
    try {
      var handle = ingest.accept(admitted.request(), payload);
      var _ = handle.released().thenRun(retained::close);
      // suppressCancel: an append in flight is counted even after the client disconnects
      return Mono.fromFuture(
          handle.resultWithin(timeoutScheduler, ackTimeout, admission::retryAfterSpoolFailure),
          true);
    } catch (RuntimeException e) {
      retained.close();
      throw e;
    }
  }

  private OtlpPayload decodePayload(
      PayloadFormat format, PayloadReader reader, MemoryReservation reservation) {
    try {
      return mapDecodeErrors(() -> reader.decode(reservation));
    } catch (HttpProblemException problem) {
      recordMalformed(format.protocol(), problem);
      throw problem;
    }
  }

  private static <T> T mapDecodeErrors(Supplier<T> decoding) {
    try {
      return decoding.get();
    } catch (DecodeException e) {
      throw switch (e.kind()) {
        case MALFORMED -> HttpProblemException.malformed(e.detail());
        case TOO_LARGE -> HttpProblemException.tooLarge(e.detail());
        case DAMAGED -> HttpProblemException.badFrame(e.detail());
      };
    }
  }

  private void recordMalformed(String protocol, HttpProblemException problem) {
    if (problem.retryAfter() == null) { // a retryable problem is not an error of the client
      ingest.recordMalformed(protocol);
    }
  }

  private static IngestResult.Accepted requireAccepted(IngestResult ingestResult) {
    return switch (ingestResult) {
      case IngestResult.Accepted accepted -> accepted;
      case IngestResult.Malformed(var reason) ->
          throw HttpProblemException.malformed("malformed OTLP: " + reason);
      case IngestResult.TooLarge(var reason) -> throw HttpProblemException.tooLarge(reason);
      case IngestResult.Unavailable(var retryAfter) ->
          throw HttpProblemException.spoolUnavailable(retryAfter);
      case IngestResult.InProgress(var retryAfter) ->
          throw HttpProblemException.requestInProgress(retryAfter);
      case IngestResult.IdempotencyKeyReused() -> throw HttpProblemException.idempotencyKeyReused();
    };
  }

  /**
   * Maps an error that the client did not cause to 503, never to 500: OTLP clients retry after 503
   * and drop the logs after 500.
   */
  private Throwable toHttpProblem(Throwable failure) {
    if (failure instanceof HttpProblemException) {
      return failure;
    }
    if (!(failure instanceof AbortedException)) { // not a disconnect of the client
      LOG.warn("ingest failed, responding 503", failure);
    }
    return HttpProblemException.spoolUnavailable(admission.retryAfterSpoolFailure());
  }
}
