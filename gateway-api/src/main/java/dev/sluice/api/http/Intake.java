package dev.sluice.api.http;

import dev.sluice.api.decode.Undecodable;
import dev.sluice.core.ingest.IngestLogs;
import dev.sluice.core.ingest.Ingested;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.ingest.OtlpPayload;
import java.time.Duration;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
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
  private static final Duration UNKNOWN_TROUBLE = Duration.ofSeconds(5);

  private final IngestLogs ingest;
  private final RequestBody bodies;
  private final MemoryBudget budget;
  private final Duration answerWithin;

  Intake(IngestLogs ingest, RequestBody bodies, MemoryBudget budget, Duration answerWithin) {
    this.ingest = ingest;
    this.bodies = bodies;
    this.budget = budget;
    this.answerWithin = answerWithin;
  }

  /**
   * How the body of a content type is read.
   *
   * @param entrance for the meters
   */
  record Form(String entrance, Function<byte[], OtlpPayload> decoder) {}

  /**
   * Emits {@link Ingested.Accepted}; whatever else becomes of the request is a {@link
   * RequestRefused}.
   */
  Mono<Ingested.Accepted> take(ServerRequest request, Form form) {
    var entrance = form.entrance();
    answerPlainly(request.exchange().getResponse());
    return Mono.using(
            () -> new Reservation(budget),
            reservation ->
                Mono.defer(() -> bodies.read(request, reservation))
                    .doOnError(RequestRefused.class, e -> unusable(entrance, e))
                    .flatMap(body -> handIn(entrance, body, form.decoder(), reservation)),
            Reservation::close)
        .map(Intake::accepted)
        .onErrorMap(Intake::refusal);
  }

  /** Compression is for readers; here it would cost more than the few bytes it saves. */
  private static void answerPlainly(ServerHttpResponse response) {
    if (ServerHttpResponseDecorator.getNativeResponse(response)
        instanceof HttpServerResponse netty) {
      netty.compression(false);
    }
  }

  private Mono<Ingested> handIn(
      String entrance,
      byte[] body,
      Function<byte[], OtlpPayload> decoder,
      Reservation reservation) {
    var payload = decoded(entrance, body, decoder);
    if (payload.bytes() != body) {
      reservation.add(payload.bytes().length);
    }
    var inHand = reservation.share();
    try {
      var ingested = ingest.accept(entrance, payload).toCompletableFuture();
      var _ = ingested.whenComplete((_, _) -> inHand.close());
      // not cancelled with the request: what is on its way is counted when it arrives
      return Mono.fromFuture(ingested, true).timeout(answerWithin);
    } catch (RuntimeException e) {
      inHand.close();
      throw e;
    }
  }

  private OtlpPayload decoded(String entrance, byte[] body, Function<byte[], OtlpPayload> decoder) {
    try {
      return decoder.apply(body);
    } catch (Undecodable e) {
      var refused =
          e.tooLarge() ? RequestRefused.tooLarge(e.detail()) : RequestRefused.malformed(e.detail());
      unusable(entrance, refused);
      throw refused;
    }
  }

  private void unusable(String entrance, RequestRefused refused) {
    if (refused.retryAfter() == null) { // a client that may come again is not to blame
      ingest.unusable(entrance);
    }
  }

  private static Ingested.Accepted accepted(Ingested ingested) {
    return switch (ingested) {
      case Ingested.Accepted accepted -> accepted;
      case Ingested.Malformed(var reason) ->
          throw RequestRefused.malformed("malformed OTLP: " + reason);
      case Ingested.TooLarge(var reason) -> throw RequestRefused.tooLarge(reason);
      case Ingested.Busy(var retryAfter) -> throw RequestRefused.busy(retryAfter);
    };
  }

  /**
   * Whatever is not the client's mistake is answered 503, never 500: OTLP clients retry the first
   * and throw the logs away on the second.
   */
  private static Throwable refusal(Throwable failure) {
    if (failure instanceof RequestRefused) {
      return failure;
    }
    if (!(failure instanceof TimeoutException || failure instanceof AbortedException)) {
      LOG.warn("logs not taken", failure); // neither too slow nor a client that hung up
    }
    return RequestRefused.busy(UNKNOWN_TROUBLE);
  }
}
