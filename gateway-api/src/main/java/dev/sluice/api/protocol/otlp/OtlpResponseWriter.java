package dev.sluice.api.protocol.otlp;

import dev.sluice.api.decode.Json;
import dev.sluice.api.http.HttpProblemException;
import dev.sluice.api.http.IngestResponseWriter;
import dev.sluice.api.http.ProblemType;
import dev.sluice.api.http.RequestHeaders;
import dev.sluice.core.ingest.IngestResult;
import dev.sluice.core.ingest.OtlpResponses;
import java.time.Duration;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Mono;

/**
 * The responses of OTLP/HTTP, in the encoding of the request.
 *
 * <p>As the OTLP specification 1.11 requires, success is 200 with an {@code
 * ExportLogsServiceResponse}; its {@code partial_success} is set only when records were rejected
 * permanently, or as a warning when records were filtered out. An error is a {@code
 * google.rpc.Status}.
 *
 * @param json whether the encoding is JSON; it is protobuf otherwise
 */
record OtlpResponseWriter(boolean json) implements IngestResponseWriter {
  private static final MediaType PROTOBUF = new MediaType("application", "x-protobuf");

  /** Short, because the client or the network was slow, and not the gateway. */
  private static final Duration REQUEST_TIMEOUT_RETRY_AFTER = Duration.ofSeconds(1);

  /** Maps 408 to 503, because OTLP clients retry only after 429, 502, 503 and 504. */
  private static HttpProblemException toRetryableStatus(HttpProblemException problem) {
    return problem.type() == ProblemType.REQUEST_TIMEOUT
        ? problem.asSpoolUnavailable(REQUEST_TIMEOUT_RETRY_AFTER)
        : problem;
  }

  @Override
  public Mono<ServerResponse> success(IngestResult.Accepted result, Duration took) {
    var response =
        ServerResponse.ok()
            .contentType(json ? MediaType.APPLICATION_JSON : PROTOBUF)
            .headers(headers -> RequestHeaders.writeAckHeaders(headers, result));
    if (!json) {
      return response.bodyValue(OtlpResponses.exportResponse(result));
    }
    return response.bodyValue(
        Json.write(
            out -> {
              out.writeStartObject();
              if (OtlpResponses.isPartial(result)) {
                out.writeObjectPropertyStart("partialSuccess");
                int rejected = OtlpResponses.rejectedCount(result);
                if (rejected > 0) { // proto3's JSON mapping writes 64-bit integers as text
                  out.writeStringProperty("rejectedLogRecords", Integer.toString(rejected));
                }
                out.writeStringProperty("errorMessage", OtlpResponses.message(result));
                out.writeEndObject();
              }
              out.writeEndObject();
            }));
  }

  @Override
  public Mono<ServerResponse> error(HttpProblemException failure) {
    var problem = toRetryableStatus(failure);
    var response =
        ServerResponse.status(problem.status())
            .contentType(json ? MediaType.APPLICATION_JSON : PROTOBUF)
            .headers(problem::writeHeaders);
    int code = rpcCode(problem.status());
    if (json) {
      return response.bodyValue(
          Json.write(
              out -> {
                out.writeStartObject();
                out.writeNumberProperty("code", code);
                out.writeStringProperty("message", problem.detail());
                out.writeEndObject();
              }));
    }
    return response.bodyValue(OtlpResponses.status(code, problem.detail(), problem.retryAfter()));
  }

  /** Returns the number of the {@code google.rpc.Code} of an HTTP status. */
  private static int rpcCode(HttpStatus status) {
    return switch (status) {
      case BAD_REQUEST -> 3; // INVALID_ARGUMENT
      case FORBIDDEN -> 7; // PERMISSION_DENIED
      case CONTENT_TOO_LARGE, TOO_MANY_REQUESTS -> 8; // RESOURCE_EXHAUSTED
      case UNPROCESSABLE_CONTENT -> 9; // FAILED_PRECONDITION
      case CONFLICT -> 10; // ABORTED
      case UNSUPPORTED_MEDIA_TYPE -> 12; // UNIMPLEMENTED
      case UNAUTHORIZED -> 16; // UNAUTHENTICATED
      default -> 14; // UNAVAILABLE
    };
  }
}
