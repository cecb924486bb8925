package dev.sluice.api.http;

import dev.sluice.api.decode.Json;
import dev.sluice.api.decode.NativeJsonDecoder;
import dev.sluice.api.decode.NativeProtobufDecoder;
import dev.sluice.api.decode.NativeRejections;
import dev.sluice.api.http.HttpIngestPipeline.PayloadFormat;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.Rejection;
import dev.sluice.core.ingest.AckLevel;
import dev.sluice.core.ingest.IngestResult;
import java.util.List;
import java.util.function.Function;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Mono;

/**
 * The handler of {@code POST /api/v1/logs}: native logs as a JSON object, a JSON array of objects,
 * NDJSON or protobuf.
 */
final class NativeLogsHandler {
  private static final IngestResult SINGLE_ACCEPTED =
      new IngestResult.Accepted(1, List.of(), 0, AckLevel.DURABLE);
  private static final String SINGLE_ACCEPTED_BODY =
      "{\"accepted\":1,\"rejected\":[],\"ack\":\"durable\"}";

  private final HttpIngestPipeline pipeline;
  private final Limits limits;

  NativeLogsHandler(HttpIngestPipeline pipeline, Limits limits) {
    this.pipeline = pipeline;
    this.limits = limits;
  }

  Mono<ServerResponse> post(ServerRequest request) {
    return ingest(pipeline, request, this::payloadFormat);
  }

  /** Ingests a request in any payload format, with the response of native logs. */
  static Mono<ServerResponse> ingest(
      HttpIngestPipeline pipeline,
      ServerRequest request,
      Function<ServerRequest, PayloadFormat> formatOf) {
    return Mono.defer(
            () ->
                pipeline
                    .ingest(request, formatOf.apply(request))
                    .flatMap(result -> respond(result, NativeRejections.of(result.rejections()))))
        .onErrorResume(HttpProblemException.class, Problem::of);
  }

  private PayloadFormat payloadFormat(ServerRequest request) {
    return switch (RequestHeaders.contentType(request)) {
      case "application/json" ->
          new PayloadFormat("http-json", body -> NativeJsonDecoder.ofJson(body, limits));
      case "application/x-ndjson", "application/ndjson", "application/jsonl" ->
          new PayloadFormat("http-ndjson", body -> NativeJsonDecoder.ofNdjson(body, limits));
      case "application/x-protobuf", "application/protobuf" ->
          new PayloadFormat("http-protobuf", body -> NativeProtobufDecoder.ofRequest(body, limits));
      default ->
          throw HttpProblemException.unsupported(
              "content type is not one of application/json, application/x-ndjson,"
                  + " application/x-protobuf");
    };
  }

  /** Returns the response of native logs. */
  private static Mono<ServerResponse> respond(
      IngestResult.Accepted result, List<Rejection> rejected) {
    if (result.acceptedNone()) {
      return Problem.of(
          ProblemType.NOTHING_ACCEPTED,
          NativeRejections.acceptedNoneMessage(result.rejectedCount()),
          rejected);
    }
    var response =
        ServerResponse.status(HttpStatus.ACCEPTED)
            .contentType(MediaType.APPLICATION_JSON)
            .headers(headers -> RequestHeaders.writeAckHeaders(headers, result));
    if (result.equals(SINGLE_ACCEPTED)) {
      return response.bodyValue(SINGLE_ACCEPTED_BODY);
    }
    return response.bodyValue(
        Json.write(
            json -> {
              json.writeStartObject();
              json.writeNumberProperty("accepted", result.accepted());
              Problem.writeRejections(json, rejected);
              if (result.rejectedCount() > rejected.size()) {
                json.writeNumberProperty("rejected_total", result.rejectedCount());
              }
              if (result.filtered() > 0) {
                json.writeNumberProperty("filtered", result.filtered());
              }
              if (result.deadLettered() > 0) {
                json.writeNumberProperty("dead_lettered", result.deadLettered());
              }
              json.writeStringProperty("ack", result.level().text());
              json.writeEndObject();
            }));
  }
}
