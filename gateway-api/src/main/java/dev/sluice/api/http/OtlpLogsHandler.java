package dev.sluice.api.http;

import dev.sluice.api.decode.Json;
import dev.sluice.api.decode.OtlpJsonDecoder;
import dev.sluice.api.http.Intake.Form;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.IngestResult;
import dev.sluice.core.ingest.OtlpPayload;
import dev.sluice.core.ingest.OtlpResponses;
import java.time.Duration;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Mono;

/**
 * {@code POST /v1/logs}: OTLP over HTTP, in protobuf or JSON, answered in the encoding it came in.
 *
 * <p>By the specification (1.11): success is 200 with an {@code ExportLogsServiceResponse} whose
 * {@code partial_success} is set only when records were rejected for good, or as a warning when
 * some were left out; an error is a {@code google.rpc.Status}.
 */
final class OtlpLogsHandler {
  private static final MediaType PROTOBUF = new MediaType("application", "x-protobuf");

  /** It was the client or the network that was slow: nothing here has to pass first. */
  private static final Duration AFTER_TOO_SLOW = Duration.ofSeconds(1);

  private final Intake intake;
  private final Limits limits;

  OtlpLogsHandler(Intake intake, Limits limits) {
    this.intake = intake;
    this.limits = limits;
  }

  Mono<ServerResponse> post(ServerRequest request) {
    boolean json;
    try {
      json = isJson(request);
    } catch (RequestRefused e) {
      return error(e, true);
    }
    var form =
        json
            ? new Form("otlp-http-json", body -> OtlpJsonDecoder.read(body, limits))
            : new Form("otlp-http-protobuf", OtlpPayload::of);
    return intake
        .take(request, form)
        .flatMap(result -> success(result, json))
        .onErrorResume(RequestRefused.class, e -> error(told(e), json));
  }

  /** On 408 clients of OTLP throw the logs away: they retry 429, 502, 503 and 504 alone. */
  private static RequestRefused told(RequestRefused refused) {
    return refused.type() == ProblemType.TOO_SLOW ? refused.retryable(AFTER_TOO_SLOW) : refused;
  }

  private static boolean isJson(ServerRequest request) {
    return switch (RequestHeaders.contentType(request)) {
      case "application/json" -> true;
      case "application/x-protobuf" -> false;
      default ->
          throw RequestRefused.unsupported(
              "content type is not one of application/x-protobuf, application/json");
    };
  }

  private static Mono<ServerResponse> success(IngestResult.Accepted result, boolean json) {
    var response =
        ServerResponse.ok()
            .contentType(json ? MediaType.APPLICATION_JSON : PROTOBUF)
            .headers(headers -> RequestHeaders.tell(headers, result));
    if (!json) {
      return response.bodyValue(OtlpResponses.exportResponse(result));
    }
    return response.bodyValue(
        Json.write(
            out -> {
              out.writeStartObject();
              if (OtlpResponses.isPartial(result)) {
                out.writeObjectPropertyStart("partialSuccess");
                int refused = OtlpResponses.rejectedCount(result);
                if (refused > 0) { // proto3's JSON mapping writes 64-bit integers as text
                  out.writeStringProperty("rejectedLogRecords", Integer.toString(refused));
                }
                out.writeStringProperty("errorMessage", OtlpResponses.message(result));
                out.writeEndObject();
              }
              out.writeEndObject();
            }));
  }

  private static Mono<ServerResponse> error(RequestRefused refused, boolean json) {
    var response =
        ServerResponse.status(refused.status())
            .contentType(json ? MediaType.APPLICATION_JSON : PROTOBUF)
            .headers(refused::headers);
    int code = rpcCode(refused.status());
    if (json) {
      return response.bodyValue(
          Json.write(
              out -> {
                out.writeStartObject();
                out.writeNumberProperty("code", code);
                out.writeStringProperty("message", refused.detail());
                out.writeEndObject();
              }));
    }
    return response.bodyValue(OtlpResponses.status(code, refused.detail(), refused.retryAfter()));
  }

  /** Numbers of google.rpc.Code. */
  private static int rpcCode(HttpStatus status) {
    return switch (status) {
      case BAD_REQUEST -> 3; // INVALID_ARGUMENT
      case CONTENT_TOO_LARGE -> 8; // RESOURCE_EXHAUSTED
      case UNPROCESSABLE_CONTENT -> 9; // FAILED_PRECONDITION
      case CONFLICT -> 10; // ABORTED
      case UNSUPPORTED_MEDIA_TYPE -> 12; // UNIMPLEMENTED
      default -> 14; // UNAVAILABLE
    };
  }
}
