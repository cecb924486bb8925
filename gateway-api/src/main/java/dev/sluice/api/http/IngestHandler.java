package dev.sluice.api.http;

import dev.sluice.core.ingest.IngestPipeline;
import dev.sluice.core.ingest.IngestResult;
import dev.sluice.core.ingest.MemoryBudgetExceededException;
import dev.sluice.core.ingest.MemoryReservation;
import dev.sluice.core.ingest.PayloadDecoder;
import dev.sluice.core.ingest.RequestContext;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.http.HttpHeaders;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.http.server.reactive.ServerHttpResponseDecorator;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Mono;
import reactor.netty.channel.AbortedException;
import reactor.netty.http.server.HttpServerResponse;

/**
 * The handler of all ingest requests to one path: it selects the route by content type, reads the
 * body, hands it to the {@link IngestPipeline} and writes the response of the protocol.
 */
final class IngestHandler {
  private static final Logger LOG = LoggerFactory.getLogger(IngestHandler.class);

  private final List<IngestRoute> routes;
  private final IngestPipeline pipeline;
  private final RequestBodyReader bodyReader;

  /**
   * @param routes the routes of the path, at least one
   */
  IngestHandler(List<IngestRoute> routes, IngestPipeline pipeline, RequestBodyReader bodyReader) {
    this.routes = List.copyOf(routes);
    this.pipeline = pipeline;
    this.bodyReader = bodyReader;
  }

  Mono<ServerResponse> post(ServerRequest request) {
    IngestRoute route;
    try {
      route = select(RequestHeaders.contentType(request));
    } catch (HttpProblemException e) {
      return routeWithoutFormat().responses().error(e);
    }
    long started = System.nanoTime();
    return Mono.defer(() -> ingest(request, route))
        .flatMap(
            result ->
                route.responses().success(result, Duration.ofNanos(System.nanoTime() - started)))
        .onErrorResume(HttpProblemException.class, route.responses()::error);
  }

  /** Returns the response to a request that access control denies. */
  Mono<ServerResponse> deny(ServerRequest request, HttpProblemException problem) {
    IngestRoute route;
    try {
      route = select(RequestHeaders.contentType(request));
    } catch (HttpProblemException _) { // the denial comes first
      route = routeWithoutFormat();
    }
    return route.responses().error(problem);
  }

  private IngestRoute select(String contentType) {
    for (var route : routes) {
      if (route.mediaTypes().contains(contentType)) {
        return route;
      }
    }
    var known =
        routes.stream()
            .map(route -> route.mediaTypes().getFirst())
            .collect(Collectors.joining(", "));
    throw HttpProblemException.unsupported(
        "content type is not " + (routes.size() > 1 ? "one of " : "") + known);
  }

  /** Returns the route that formats an error of the content type itself: JSON where there is. */
  private IngestRoute routeWithoutFormat() {
    return routes.stream()
        .filter(route -> route.mediaTypes().contains("application/json"))
        .findFirst()
        .orElse(routes.getFirst());
  }

  /**
   * Ingests a request. It emits {@link IngestResult.Accepted}; every other outcome is a {@link
   * HttpProblemException}. Admission control rejects a request before its body is read.
   */
  private Mono<IngestResult.Accepted> ingest(ServerRequest request, IngestRoute route) {
    var decoder = route.decoderFactory().apply(request);
    disableCompression(request.exchange().getResponse());
    RequestContext context;
    try {
      context = RequestContextFilter.createIngestContext(request, route.protocol());
    } catch (HttpProblemException e) {
      pipeline.recordMalformed(route.protocol());
      throw e;
    }
    var unavailable = pipeline.checkAdmission(context);
    if (unavailable != null) {
      throw HttpProblemException.spoolUnavailable(unavailable.retryAfter());
    }
    return Mono.using(
            () -> pipeline.newReservation(0),
            memory -> readAndIngest(request, context, memory, decoder),
            MemoryReservation::close)
        .map(IngestHandler::requireAccepted)
        .onErrorMap(this::toHttpProblem);
  }

  /** Disables response compression, which would cost more than it saves on a short response. */
  private static void disableCompression(ServerHttpResponse response) {
    if (ServerHttpResponseDecorator.getNativeResponse(response)
        instanceof HttpServerResponse netty) {
      netty.compression(false);
    }
  }

  private Mono<IngestResult> readAndIngest(
      ServerRequest request,
      RequestContext context,
      MemoryReservation memory,
      PayloadDecoder decoder) {
    return Mono.defer(
            () -> {
              var encoding =
                  ContentEncoding.of(request.headers().header(HttpHeaders.CONTENT_ENCODING));
              return bodyReader
                  .read(request, memory)
                  .map(body -> pipeline.ingest(context, memory.retain(), body, encoding, decoder));
            })
        .doOnError(HttpProblemException.class, _ -> pipeline.recordMalformed(context.protocol()))
        // suppressCancel: an append in flight is counted even after the client disconnects
        .flatMap(result -> Mono.fromFuture(result, true));
  }

  private static IngestResult.Accepted requireAccepted(IngestResult ingestResult) {
    return switch (ingestResult) {
      case IngestResult.Accepted accepted -> accepted;
      case IngestResult.Malformed(var reason) ->
          throw HttpProblemException.malformed("malformed OTLP: " + reason);
      case IngestResult.DecodeFailure(var reason, var damaged) ->
          throw damaged
              ? HttpProblemException.badFrame(reason)
              : HttpProblemException.malformed(reason);
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
    return switch (failure) {
      case HttpProblemException problem -> problem;
      case MemoryBudgetExceededException _ ->
          HttpProblemException.spoolUnavailable(pipeline.overBudget().retryAfter());
      default -> {
        if (!(failure instanceof AbortedException)) { // not a disconnect of the client
          LOG.warn("ingest failed, responding 503", failure);
        }
        yield HttpProblemException.spoolUnavailable(pipeline.failed().retryAfter());
      }
    };
  }
}
