package dev.sluice.api.http;

import dev.sluice.api.decode.Json;
import dev.sluice.query.port.LogReader;
import dev.sluice.query.port.LogReader.LogPage;
import dev.sluice.query.port.LogReader.Query;
import org.springframework.http.HttpHeaders;
import org.springframework.http.InvalidMediaTypeException;
import org.springframework.http.MediaType;
import org.springframework.web.reactive.function.BodyInserters;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Mono;
import tools.jackson.core.JsonGenerator;

/**
 * The handler of {@code GET /api/v1/logs}: stored logs, newest first. The response is a page in
 * JSON, or the whole result as a stream of lines when the client accepts {@code
 * application/x-ndjson}.
 */
final class QueryHandler {
  static final int DEFAULT_LIMIT = 100;
  static final int MAX_LIMIT = 10_000;

  /** The request headers that the response depends on, for caches. */
  private static final String[] VARY_HEADERS = {HttpHeaders.ACCEPT, HttpHeaders.ACCEPT_ENCODING};

  private final LogReader reader;
  private final BlockingQueries queries;
  private final NdjsonExport export;

  QueryHandler(LogReader reader, BlockingQueries queries) {
    this.reader = reader;
    this.queries = queries;
    export = new NdjsonExport(reader, queries);
  }

  Mono<ServerResponse> get(ServerRequest request) {
    return Mono.defer(() -> respond(request)).onErrorResume(BlockingQueries::toProblemResponse);
  }

  private Mono<ServerResponse> respond(ServerRequest request) {
    var parameters = new QueryParameters(request.queryParams(), "limit", "cursor");
    var filter = parameters.filter(RequestContextFilter.contextOf(request));
    var after = parameters.cursor();
    if (acceptsNdjson(request)) {
      int limit = parameters.number("limit", Integer.MAX_VALUE, Integer.MAX_VALUE);
      return export
          .lines(filter, limit, after)
          .flatMap(
              lines ->
                  ServerResponse.ok()
                      .varyBy(VARY_HEADERS)
                      .contentType(MediaType.APPLICATION_NDJSON)
                      .body(BodyInserters.fromDataBuffers(lines)));
    }
    var query = new Query(filter, parameters.number("limit", DEFAULT_LIMIT, MAX_LIMIT), after);
    return queries
        .submit(() -> reader.read(query))
        .flatMap(
            page ->
                queries.json(
                    ServerResponse.ok().varyBy(VARY_HEADERS),
                    Json.write(json -> write(page, json))));
  }

  private static boolean acceptsNdjson(ServerRequest request) {
    try {
      return request.headers().accept().stream()
          .anyMatch(type -> type.equalsTypeAndSubtype(MediaType.APPLICATION_NDJSON));
    } catch (InvalidMediaTypeException _) {
      throw HttpProblemException.malformed("header Accept is malformed");
    }
  }

  static void write(LogPage page, JsonGenerator json) {
    json.writeStartObject();
    json.writeArrayPropertyStart("logs");
    page.logs().forEach(log -> LogJson.write(log, json));
    json.writeEndArray();
    var next = page.next();
    if (next != null) {
      json.writeStringProperty("next_cursor", next.toCursor());
    }
    json.writeEndObject();
  }
}
