package dev.sluice.api.http;

import dev.sluice.api.decode.Json;
import dev.sluice.api.decode.NativeRejections;
import dev.sluice.core.ingest.AckLevel;
import dev.sluice.core.ingest.IngestResult;
import java.time.Duration;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Mono;

/**
 * The responses of native logs: a JSON object with the rejections, and problem details for errors.
 */
public final class NativeResponseWriter implements IngestResponseWriter {
  private static final IngestResult SINGLE_ACCEPTED =
      IngestResult.Accepted.all(1, AckLevel.DURABLE);
  private static final String SINGLE_ACCEPTED_BODY =
      "{\"accepted\":1,\"rejected\":[],\"ack\":\"durable\"}";

  @Override
  public Mono<ServerResponse> error(HttpProblemException problem) {
    return Problem.of(problem);
  }

  @Override
  public Mono<ServerResponse> success(IngestResult.Accepted result, Duration took) {
    var rejected = NativeRejections.of(result.rejections());
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
