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
final class Intake {
  private static final Logger LOG = LoggerFactory.getLogger(Intake.class);

  private final IngestService ingest;
  private final RequestBody bodies;
  private final MemoryBudget budget;
  private final AdmissionController admission;
  private final TimeoutScheduler deadlines;
  private final Duration answerWithin;

  Intake(
      IngestService ingest,
      RequestBody bodies,
      MemoryBudget budget,
      AdmissionController admission,
      TimeoutScheduler deadlines,
      Duration answerWithin) {
    this.ingest = ingest;
    this.bodies = bodies;
    this.budget = budget;
    this.admission = admission;
    this.deadlines = deadlines;
    this.answerWithin = answerWithin;
  }

  /**
   * How the body of a content type is read.
   *
   * @param entrance for the meters
   * @param packed whether it is unpacked, so that a short body may be long work
   */
  record Form(String entrance, Function<byte[], Reading> reader, boolean packed) {
    Form(String entrance, Function<byte[], OtlpPayload> decoder) {
      this(entrance, body -> new Plain(entrance, body, decoder), false);
    }
  }

  /** One body, asked first who it is and then what it holds. */
  interface Reading {
    /** Under which key, if any, it is taken once, and what makes it the same body. */
    RequestContext request(IngestOptions asked);

    /** As OTLP; takes from the reservation what it unpacks beside. */
    OtlpPayload decode(Reservation reservation);
  }

  private record Plain(String entrance, byte[] body, Function<byte[], OtlpPayload> decoder)
      implements Reading {
    @Override
    public RequestContext request(IngestOptions asked) {
      return asked.toRequest(entrance, body);
    }

    @Override
    public OtlpPayload decode(Reservation reservation) {
      return decoder.apply(body);
    }
  }

  /**
   * Emits {@link IngestResult.Accepted}; whatever else becomes of the request is a {@link
   * RequestRefused}. One that cannot be taken now is told so before any of its body is read.
   */
  Mono<IngestResult.Accepted> take(ServerRequest request, Form form) {
    var entrance = form.entrance();
    answerPlainly(request.exchange().getResponse());
    return Mono.using(
            () -> new Reservation(budget, admission::retryAfterMemoryPressure),
            reservation ->
                Mono.defer(() -> admitted(request, form, reservation))
                    .doOnError(RequestRefused.class, e -> unusable(entrance, e))
                    .flatMap(one -> handIn(one, form, reservation)),
            Reservation::close)
        .map(Intake::accepted)
        .onErrorMap(this::refusal);
  }

  private record Admitted(RequestContext request, byte[] body, Reading reading) {}

  private Mono<Admitted> admitted(ServerRequest request, Form form, Reservation reservation) {
    var asked = RequestHeaders.asked(request);
    var unavailable = admission.check(asked.level());
    if (unavailable != null) {
      ingest.recordShed(form.entrance());
      throw RequestRefused.busy(unavailable.retryAfter());
    }
    if (asked.level() == AckLevel.ACCEPTED) {
      reservation.add(IngestService.REQUEST_OVERHEAD_BYTES);
    }
    return bodies
        .read(request, reservation, form.packed())
        .map(body -> understood(() -> admitted(asked, body, form.reader().apply(body))));
  }

  private static Admitted admitted(IngestOptions asked, byte[] body, Reading reading) {
    return new Admitted(reading.request(asked), body, reading);
  }

  /** Compression is for readers; here it would cost more than the few bytes it saves. */
  private static void answerPlainly(ServerHttpResponse response) {
    if (ServerHttpResponseDecorator.getNativeResponse(response)
        instanceof HttpServerResponse netty) {
      netty.compression(false);
    }
  }

  private Mono<IngestResult> handIn(Admitted one, Form form, Reservation reservation) {
    var payload = decoded(form, one.reading(), reservation);
    if (payload.bytes() != one.body()) {
      reservation.add(payload.bytes().length);
    }
    var inHand = reservation.share();
    try {
      var handed = ingest.accept(one.request(), payload);
      var _ = handed.released().thenRun(inHand::close);
      // not cancelled with the request: what is on its way is counted when it arrives
      return Mono.fromFuture(
          handed.result(deadlines, answerWithin, admission::retryAfterSpoolFailure), true);
    } catch (RuntimeException e) {
      inHand.close();
      throw e;
    }
  }

  private OtlpPayload decoded(Form form, Reading reading, Reservation reservation) {
    try {
      return understood(() -> reading.decode(reservation));
    } catch (RequestRefused refused) {
      unusable(form.entrance(), refused);
      throw refused;
    }
  }

  private static <T> T understood(Supplier<T> reading) {
    try {
      return reading.get();
    } catch (DecodeException e) {
      throw switch (e.kind()) {
        case MALFORMED -> RequestRefused.malformed(e.detail());
        case TOO_LARGE -> RequestRefused.tooLarge(e.detail());
        case DAMAGED -> RequestRefused.badFrame(e.detail());
      };
    }
  }

  private void unusable(String entrance, RequestRefused refused) {
    if (refused.retryAfter() == null) { // a client that may come again is not to blame
      ingest.recordMalformed(entrance);
    }
  }

  private static IngestResult.Accepted accepted(IngestResult ingestResult) {
    return switch (ingestResult) {
      case IngestResult.Accepted accepted -> accepted;
      case IngestResult.Malformed(var reason) ->
          throw RequestRefused.malformed("malformed OTLP: " + reason);
      case IngestResult.TooLarge(var reason) -> throw RequestRefused.tooLarge(reason);
      case IngestResult.Unavailable(var retryAfter) -> throw RequestRefused.busy(retryAfter);
      case IngestResult.InProgress(var retryAfter) -> throw RequestRefused.underWay(retryAfter);
      case IngestResult.IdempotencyKeyReused() -> throw RequestRefused.keyReused();
    };
  }

  /**
   * Whatever is not the client's mistake is answered 503, never 500: OTLP clients retry the first
   * and throw the logs away on the second.
   */
  private Throwable refusal(Throwable failure) {
    if (failure instanceof RequestRefused) {
      return failure;
    }
    if (!(failure instanceof AbortedException)) { // a client that hung up
      LOG.warn("logs not taken", failure);
    }
    return RequestRefused.busy(admission.retryAfterSpoolFailure());
  }
}
