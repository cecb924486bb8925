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

/** What every HTTP entrance does: read, decode, hand in, and give the memory back. */
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
   * How the body of a content type is read.
   *
   * @param protocol for the meters
   * @param compressed whether it is unpacked, so that a short body may be long work
   */
  record PayloadFormat(
      String protocol, Function<byte[], PayloadReader> readerFactory, boolean compressed) {
    PayloadFormat(String protocol, Function<byte[], OtlpPayload> decoder) {
      this(protocol, body -> new PassThroughReader(protocol, body, decoder), false);
    }
  }

  /** One body, asked first who it is and then what it holds. */
  interface PayloadReader {
    /** Under which key, if any, it is taken once, and what makes it the same body. */
    RequestContext request(IngestOptions options);

    /** As OTLP; takes from the reservation what it unpacks beside. */
    OtlpPayload decode(MemoryReservation reservation);
  }

  private record PassThroughReader(
      String protocol, byte[] body, Function<byte[], OtlpPayload> decoder)
      implements PayloadReader {
    @Override
    public RequestContext request(IngestOptions options) {
      return options.toRequest(protocol, body);
    }

    @Override
    public OtlpPayload decode(MemoryReservation reservation) {
      return decoder.apply(body);
    }
  }

  /**
   * Emits {@link IngestResult.Accepted}; whatever else becomes of the request is a {@link
   * HttpProblemException}. One that cannot be taken now is told so before any of its body is read.
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

  /** Compression is for readers; here it would cost more than the few bytes it saves. */
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
      // not cancelled with the request: what is on its way is counted when it arrives
      return Mono.fromFuture(
          handle.result(timeoutScheduler, ackTimeout, admission::retryAfterSpoolFailure), true);
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
    if (problem.retryAfter() == null) { // a client that may come again is not to blame
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
   * Whatever is not the client's mistake is answered 503, never 500: OTLP clients retry the first
   * and throw the logs away on the second.
   */
  private Throwable toHttpProblem(Throwable failure) {
    if (failure instanceof HttpProblemException) {
      return failure;
    }
    if (!(failure instanceof AbortedException)) { // a client that hung up
      LOG.warn("logs not taken", failure);
    }
    return HttpProblemException.spoolUnavailable(admission.retryAfterSpoolFailure());
  }
}
