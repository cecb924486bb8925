package dev.sluice.api.protocol.legacy;

import dev.sluice.api.decode.Json;
import dev.sluice.api.http.HttpProblemException;
import dev.sluice.api.http.IngestResponseWriter;
import dev.sluice.api.http.RequestHeaders;
import dev.sluice.core.ingest.IngestResult;
import java.time.Duration;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Mono;
import tools.jackson.core.JsonGenerator;

/** The responses of the legacy API over HTTP. */
final class LegacyResponseWriter implements IngestResponseWriter {

  @Override
  public Mono<ServerResponse> error(HttpProblemException problem) {
    return errorResponse(problem);
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

  @Override
  public Mono<ServerResponse> success(IngestResult.Accepted result, Duration took) {
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
                  Math.round(result.accepted() * 1e9 / Math.max(1, took.toNanos())) + " logs/sec");
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
