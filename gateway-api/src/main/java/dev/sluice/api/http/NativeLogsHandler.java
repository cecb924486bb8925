package dev.sluice.api.http;

import dev.sluice.api.decode.Json;
import dev.sluice.api.decode.NativeJsonDecoder;
import dev.sluice.api.decode.NativeProtobufDecoder;
import dev.sluice.api.decode.NativeRejections;
import dev.sluice.api.http.Intake.Form;
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

/** {@code POST /api/v1/logs}: a JSON object, an array of them, one a line, or protobuf. */
final class NativeLogsHandler {
  private static final IngestResult ONE =
      new IngestResult.Accepted(1, List.of(), 0, AckLevel.DURABLE);
  private static final String ONE_ACCEPTED = "{\"accepted\":1,\"rejected\":[],\"ack\":\"durable\"}";

  private final Intake intake;
  private final Limits limits;

  NativeLogsHandler(Intake intake, Limits limits) {
    this.intake = intake;
    this.limits = limits;
  }

  Mono<ServerResponse> post(ServerRequest request) {
    return take(intake, request, this::form);
  }

  /** Takes what is in a form of its own and answers in the words of native logs. */
  static Mono<ServerResponse> take(
      Intake intake, ServerRequest request, Function<ServerRequest, Form> form) {
    return Mono.defer(
            () ->
                intake
                    .take(request, form.apply(request))
                    .flatMap(result -> answer(result, NativeRejections.of(result.rejections()))))
        .onErrorResume(RequestRefused.class, Problem::of);
  }

  private Form form(ServerRequest request) {
    return switch (RequestHeaders.contentType(request)) {
      case "application/json" ->
          new Form("http-json", body -> NativeJsonDecoder.ofJson(body, limits));
      case "application/x-ndjson", "application/ndjson", "application/jsonl" ->
          new Form("http-ndjson", body -> NativeJsonDecoder.ofNdjson(body, limits));
      case "application/x-protobuf", "application/protobuf" ->
          new Form("http-protobuf", body -> NativeProtobufDecoder.ofRequest(body, limits));
      default ->
          throw RequestRefused.unsupported(
              "content type is not one of application/json, application/x-ndjson,"
                  + " application/x-protobuf");
    };
  }

  /** The answer in the words of native logs. */
  private static Mono<ServerResponse> answer(
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
            .headers(headers -> RequestHeaders.tell(headers, result));
    if (result.equals(ONE)) {
      return response.bodyValue(ONE_ACCEPTED);
    }
    return response.bodyValue(
        Json.write(
            json -> {
              json.writeStartObject();
              json.writeNumberProperty("accepted", result.accepted());
              Problem.rejections(json, rejected);
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
