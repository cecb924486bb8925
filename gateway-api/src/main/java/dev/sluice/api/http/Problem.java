package dev.sluice.api.http;

import dev.sluice.api.decode.Json;
import dev.sluice.core.domain.Rejection;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.http.MediaType;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Mono;
import tools.jackson.core.JsonGenerator;

/** Error responses as problem details (RFC 9457). */
final class Problem {
  private Problem() {}

  static Mono<ServerResponse> of(ProblemType type, String detail) {
    return of(type, detail, List.of());
  }

  static Mono<ServerResponse> of(HttpProblemException problem) {
    return ServerResponse.status(problem.status())
        .contentType(MediaType.APPLICATION_PROBLEM_JSON)
        .headers(problem::writeHeaders)
        .bodyValue(body(problem));
  }

  static Mono<ServerResponse> of(ProblemType type, String detail, List<Rejection> rejected) {
    return ServerResponse.status(type.status())
        .contentType(MediaType.APPLICATION_PROBLEM_JSON)
        .bodyValue(body(type, detail, null, rejected));
  }

  static Mono<ServerResponse> methodNotAllowed(String allow) {
    var type = ProblemType.METHOD_NOT_ALLOWED;
    return ServerResponse.status(type.status())
        .contentType(MediaType.APPLICATION_PROBLEM_JSON)
        .header(HttpHeaders.ALLOW, allow)
        .bodyValue(body(type, "allowed methods: " + allow, null, List.of()));
  }

  /** Writes a problem as the response of a server that has no router. */
  static Mono<Void> write(HttpProblemException problem, ServerHttpResponse response) {
    response.setStatusCode(problem.status());
    problem.writeHeaders(response.getHeaders());
    response.getHeaders().setContentType(MediaType.APPLICATION_PROBLEM_JSON);
    return response.writeWith(
        Mono.fromSupplier(() -> response.bufferFactory().wrap(body(problem))));
  }

  static byte[] body(HttpProblemException problem) {
    return body(problem.type(), problem.detail(), problem.retryAfter(), List.of());
  }

  private static byte[] body(
      ProblemType type, String detail, @Nullable Duration retryAfter, List<Rejection> rejected) {
    return Json.write(
        json -> {
          json.writeStartObject();
          json.writeStringProperty("type", type.uri());
          json.writeStringProperty("title", type.title());
          json.writeNumberProperty("status", type.status().value());
          json.writeStringProperty("detail", detail);
          if (retryAfter != null) {
            json.writeNumberProperty("retryAfterMs", retryAfter.toMillis());
          }
          if (!rejected.isEmpty()) {
            writeRejections(json, rejected);
          }
          json.writeEndObject();
        });
  }

  /** Returns the routes of the pages that describe the problem types, at their URIs. */
  static RouterFunction<ServerResponse> pages() {
    var routes = RouterFunctions.route();
    for (var type : ProblemType.values()) {
      var text =
          "%s (status %d)\n\n%s\n\nExample:\n%s\n"
              .formatted(
                  type.title(),
                  type.status().value(),
                  type.description(),
                  new String(body(type, type.example(), null, List.of()), StandardCharsets.UTF_8));
      routes.GET(
          type.uri(),
          RestrictedHandler.page(
              _ ->
                  ServerResponse.ok()
                      .contentType(new MediaType(MediaType.TEXT_PLAIN, StandardCharsets.UTF_8))
                      .bodyValue(text)));
    }
    return routes.build();
  }

  /** Returns the duration in seconds, rounded up, at least one. */
  static String retryAfterSeconds(Duration duration) {
    return Long.toString(Math.max(1, duration.plusMillis(999).toSeconds()));
  }

  static void writeRejections(JsonGenerator json, List<Rejection> rejected) {
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
