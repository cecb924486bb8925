package dev.sluice.api.http;

import dev.sluice.core.domain.Rejection;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Mono;
import tools.jackson.core.JsonGenerator;

/** Answers that are not success, as RFC 9457 problem details. */
final class Problem {
  private Problem() {}

  static Mono<ServerResponse> of(HttpStatus status, String detail) {
    return of(status, detail, List.of());
  }

  static Mono<ServerResponse> of(RequestRefused refused) {
    return ServerResponse.status(refused.status())
        .contentType(MediaType.APPLICATION_PROBLEM_JSON)
        .headers(refused::headers)
        .bodyValue(body(refused.status(), refused.detail(), refused.retryAfter(), List.of()));
  }

  static Mono<ServerResponse> of(HttpStatus status, String detail, List<Rejection> rejected) {
    return ServerResponse.status(status)
        .contentType(MediaType.APPLICATION_PROBLEM_JSON)
        .bodyValue(body(status, detail, null, rejected));
  }

  static Mono<ServerResponse> methodNotAllowed(String allow) {
    return ServerResponse.status(HttpStatus.METHOD_NOT_ALLOWED)
        .contentType(MediaType.APPLICATION_PROBLEM_JSON)
        .header(HttpHeaders.ALLOW, allow)
        .bodyValue(body(HttpStatus.METHOD_NOT_ALLOWED, "allowed here: " + allow, null, List.of()));
  }

  private static byte[] body(
      HttpStatus status, String detail, @Nullable Duration retryAfter, List<Rejection> rejected) {
    return Json.write(
        json -> {
          json.writeStartObject();
          json.writeStringProperty("type", "about:blank");
          json.writeStringProperty("title", status.getReasonPhrase());
          json.writeNumberProperty("status", status.value());
          json.writeStringProperty("detail", detail);
          if (retryAfter != null) {
            json.writeNumberProperty("retryAfterMs", retryAfter.toMillis());
          }
          if (!rejected.isEmpty()) {
            rejections(json, rejected);
          }
          json.writeEndObject();
        });
  }

  /** Whole seconds, rounded up, at least one. */
  static String seconds(Duration duration) {
    return Long.toString(Math.max(1, duration.plusMillis(999).toSeconds()));
  }

  static void rejections(JsonGenerator json, List<Rejection> rejected) {
    json.writeArrayPropertyStart("rejected");
    for (var rejection : rejected) {
      json.writeStartObject();
      json.writeNumberProperty("index", rejection.index());
      json.writeStringProperty("field", rejection.field());
      json.writeStringProperty("reason", rejection.reason());
      json.writeEndObject();
    }
    json.writeEndArray();
  }
}
