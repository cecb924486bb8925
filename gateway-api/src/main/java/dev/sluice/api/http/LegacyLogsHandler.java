package dev.sluice.api.http;

import dev.sluice.api.decode.Json;
import dev.sluice.api.decode.LegacyLog;
import dev.sluice.api.decode.LegacyLogDecoder;
import dev.sluice.api.http.HttpIngestPipeline.PayloadFormat;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.IngestResult;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Mono;
import tools.jackson.core.JsonGenerator;

/**
 * The handler of {@code POST /api/logs}, the legacy ingest API with its legacy responses. It
 * accepts a JSON object, a JSON array of objects, or protobuf.
 */
final class LegacyLogsHandler {
  private final HttpIngestPipeline pipeline;
  private final Limits limits;

  LegacyLogsHandler(HttpIngestPipeline pipeline, Limits limits) {
    this.pipeline = pipeline;
    this.limits = limits;
  }

  Mono<ServerResponse> post(ServerRequest request) {
    return Mono.defer(
            () -> {
              long started = System.nanoTime();
              return pipeline
                  .ingest(request, payloadFormat(request))
                  .flatMap(result -> respond(result, System.nanoTime() - started));
            })
        .onErrorResume(HttpProblemException.class, LegacyLogsHandler::errorResponse);
  }

  private PayloadFormat payloadFormat(ServerRequest request) {
    return switch (RequestHeaders.contentType(request)) {
      case "application/json" ->
          new PayloadFormat("legacy-http-json", body -> LegacyLogDecoder.ofJson(body, limits));
      case "application/x-protobuf" ->
          new PayloadFormat(
              "legacy-http-protobuf", body -> LegacyLogDecoder.ofProtobuf(body, limits));
      case "application/x-protobuf-batch" ->
          new PayloadFormat(
              "legacy-http-protobuf", body -> LegacyLogDecoder.ofProtobufBatch(body, limits));
      default ->
          throw HttpProblemException.unsupported(
              "content type is not one of application/json, application/x-protobuf,"
                  + " application/x-protobuf-batch");
    };
  }

  /** Returns an error response, also for the legacy query API. */
  static Mono<ServerResponse> errorResponse(HttpProblemException problem) {
    var response =
        ServerResponse.status(problem.status())
            .contentType(MediaType.APPLICATION_JSON)
            .headers(problem::writeHeaders);
    return response.bodyValue(
        Json.write(
            json -> {
              json.writeStartObject();
              json.writeBooleanProperty("success", false);
              json.writeStringProperty("message", problem.detail());
              json.writeEndObject();
            }));
  }

  private static Mono<ServerResponse> respond(IngestResult.Accepted result, long tookNanos) {
    boolean success = !result.acceptedNone();
    var response =
        ServerResponse.status(success ? HttpStatus.ACCEPTED : HttpStatus.BAD_REQUEST)
            .contentType(MediaType.APPLICATION_JSON);
    if (success) {
      response.headers(headers -> RequestHeaders.writeAckHeaders(headers, result));
    }
    return response.bodyValue(
        Json.write(
            json -> {
              json.writeStartObject();
              json.writeBooleanProperty("success", success);
              json.writeStringProperty("message", LegacyLog.message(result));
              json.writeObjectPropertyStart("stats");
              json.writeNumberProperty("accepted", result.accepted());
              json.writeNumberProperty("rejected", result.rejectedCount());
              if (result.filtered() > 0) {
                json.writeNumberProperty("filtered", result.filtered());
              }
              json.writeStringProperty(
                  "throughput",
                  Math.round(result.accepted() * 1e9 / Math.max(1, tookNanos)) + " logs/sec");
              json.writeEndObject();
              if (!success || result.rejectedCount() > 0) {
                writeErrors(result, json);
              }
              json.writeEndObject();
            }));
  }

  private static void writeErrors(IngestResult.Accepted result, JsonGenerator json) {
    json.writeArrayPropertyStart("errors");
    result.rejections().stream()
        .limit(LegacyLog.MAX_REPORTED_ERRORS)
        .map(LegacyLog::toLegacyRejection)
        .forEach(
            rejection -> {
              json.writeStartObject();
              json.writeNumberProperty("index", rejection.index());
              json.writeStringProperty("field", rejection.field());
              json.writeStringProperty("error", LegacyLog.describe(rejection));
              json.writeEndObject();
            });
    json.writeEndArray();
  }
}
