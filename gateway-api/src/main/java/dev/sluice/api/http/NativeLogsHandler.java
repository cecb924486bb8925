package dev.sluice.api.http;

import dev.sluice.api.decode.FlatLogs;
import dev.sluice.api.decode.Json;
import dev.sluice.api.decode.NativeLogs;
import dev.sluice.api.decode.NativeVerdicts;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.Rejection;
import dev.sluice.core.ingest.Ingested;
import dev.sluice.core.ingest.OtlpPayload;
import java.util.List;
import java.util.Locale;
import org.springframework.http.HttpStatus;
import org.springframework.http.InvalidMediaTypeException;
import org.springframework.http.MediaType;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Mono;

/** {@code POST /api/v1/logs}: a JSON object, an array of them, one a line, or protobuf. */
final class NativeLogsHandler {
  static final String ACK = "sluice-ack";
  static final String DURABLE = "durable";
  private static final String ONE_ACCEPTED = "{\"accepted\":1,\"rejected\":[],\"ack\":\"durable\"}";

  private final Intake intake;
  private final Limits limits;

  NativeLogsHandler(Intake intake, Limits limits) {
    this.intake = intake;
    this.limits = limits;
  }

  Mono<ServerResponse> post(ServerRequest request) {
    return Mono.defer(
            () -> {
              requireAck(request);
              var taken =
                  switch (format(request)) {
                    case JSON -> intake.take(request, "http-json", this::json);
                    case NDJSON -> intake.take(request, "http-ndjson", this::ndjson);
                    case PROTOBUF -> intake.take(request, "http-protobuf", this::protobuf);
                  };
              return taken.flatMap(result -> answer(result, NativeVerdicts.of(result.rejected())));
            })
        .onErrorResume(RequestRefused.class, Problem::of);
  }

  private OtlpPayload json(byte[] body) {
    return NativeLogs.ofJson(body, limits);
  }

  private OtlpPayload ndjson(byte[] body) {
    return NativeLogs.ofNdjson(body, limits);
  }

  private OtlpPayload protobuf(byte[] body) {
    return FlatLogs.ofRequest(body, limits);
  }

  private enum Format {
    JSON,
    NDJSON,
    PROTOBUF
  }

  private static Format format(ServerRequest request) {
    var type = mediaType(request);
    var name = type.getType() + "/" + type.getSubtype();
    return switch (name.toLowerCase(Locale.ROOT)) {
      case "application/json" -> Format.JSON;
      case "application/x-ndjson", "application/ndjson", "application/jsonl" -> Format.NDJSON;
      case "application/x-protobuf", "application/protobuf" -> Format.PROTOBUF;
      default ->
          throw RequestRefused.unsupported(
              "content type is not one of application/json, application/x-ndjson,"
                  + " application/x-protobuf");
    };
  }

  /** The content type, of which a charset other than UTF-8 is not understood. */
  static MediaType mediaType(ServerRequest request) {
    var header = request.headers().firstHeader("Content-Type");
    if (header == null) {
      throw RequestRefused.unsupported("content type is missing");
    }
    try {
      var type = MediaType.parseMediaType(header);
      var charset = type.getParameter("charset");
      if (charset != null && !charset.replace("\"", "").equalsIgnoreCase("utf-8")) {
        throw RequestRefused.unsupported("charset is not utf-8");
      }
      return type;
    } catch (InvalidMediaTypeException _) {
      throw RequestRefused.unsupported("content type cannot be read");
    }
  }

  /**
   * {@code accepted} is granted by more than it asks for; {@code stored} cannot be promised yet.
   */
  static void requireAck(ServerRequest request) {
    var ack = request.headers().firstHeader(ACK);
    if (ack != null && !ack.equals(DURABLE) && !ack.equals("accepted")) {
      throw RequestRefused.malformed(ACK + " is not one of accepted, durable");
    }
  }

  private static Mono<ServerResponse> answer(Ingested.Accepted result, List<Rejection> rejected) {
    if (result.accepted() == 0) {
      return Problem.of(
          ProblemType.NOTHING_ACCEPTED,
          result.rejectedCount() == 0
              ? "no logs in the request"
              : "all " + result.rejectedCount() + " logs were rejected",
          rejected);
    }
    var response =
        ServerResponse.status(HttpStatus.ACCEPTED)
            .contentType(MediaType.APPLICATION_JSON)
            .header(ACK, DURABLE);
    if (result.accepted() == 1 && result.rejectedCount() == 0) {
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
              json.writeStringProperty("ack", DURABLE);
              json.writeEndObject();
            }));
  }
}
