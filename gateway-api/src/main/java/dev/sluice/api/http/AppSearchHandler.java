package dev.sluice.api.http;

import dev.sluice.api.decode.AppLog;
import dev.sluice.api.decode.Json;
import dev.sluice.core.ingest.IngestLogs;
import dev.sluice.core.port.LogReader;
import dev.sluice.core.port.LogReader.Query;
import dev.sluice.core.port.LogReader.StoredLog;
import dev.sluice.core.port.TemplateReader.Recent;
import dev.sluice.core.query.LogFilter;
import dev.sluice.core.search.SearchLogs;
import dev.sluice.core.search.SearchLogs.Mode;
import dev.sluice.core.search.SearchLogs.Request;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.util.LinkedMultiValueMap;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Mono;
import tools.jackson.core.JsonGenerator;
import tools.jackson.databind.JsonNode;

/**
 * {@code POST /api/logs/search}, as the system Sluice grew out of meant it: logs by what they mean,
 * the newest one of each template that answers. Fields it did not know are ignored, as it did.
 */
final class AppSearchHandler {
  private static final int DEFAULT_LIMIT = 20;

  /** Of one instant in one service, among which the one that is looked for is. */
  private static final int OF_AN_INSTANT = 1_000;

  private final SearchLogs search;
  private final LogReader reader;
  private final Reads reads;

  AppSearchHandler(SearchLogs search, LogReader reader, Reads reads) {
    this.search = search;
    this.reader = reader;
    this.reads = reads;
  }

  /**
   * @param score of its template; what holds a value that was asked for has none
   */
  private record Found(StoredLog log, @Nullable Double score) {}

  Mono<ServerResponse> post(ServerRequest request) {
    return Mono.defer(
            () -> {
              long started = System.nanoTime();
              return SearchHandler.body(request)
                  .map(AppSearchHandler::parse)
                  .flatMap(
                      asked ->
                          reads
                              .ask(() -> find(asked))
                              .flatMap(found -> answer(asked, found, System.nanoTime() - started)));
            })
        .onErrorResume(failure -> AppLogsHandler.refused(Reads.refusal(failure)));
  }

  private static Request parse(byte[] body) {
    var asked = SearchHandler.object(body);
    var query = asked.path("query").asString("");
    if (query.isBlank() || query.length() > Request.MOST_CHARACTERS) {
      throw RequestRefused.malformed(
          "query must have 1 to %d characters".formatted(Request.MOST_CHARACTERS));
    }
    var parameters = new LinkedMultiValueMap<String, String>();
    put("limit", asked.path("limit"), parameters);
    put("service", asked.path("app_id"), parameters);
    for (var level : asked.path("level")) {
      put("severity", level, parameters);
    }
    put("from", asked.path("time_range").path("start"), parameters);
    put("to", asked.path("time_range").path("end"), parameters);
    var values = new QueryParameters(parameters, "limit");
    return new Request(
        query,
        Mode.HYBRID,
        values.filter(),
        0,
        values.number("limit", DEFAULT_LIMIT, Request.MOST),
        1);
  }

  private static void put(
      String name, JsonNode value, LinkedMultiValueMap<String, String> parameters) {
    if (value.isMissingNode() || value.isNull()) {
      return;
    }
    if (!value.isValueNode()) {
      throw RequestRefused.malformed(name + " is not a text or a number");
    }
    parameters.add(name, value.asString());
  }

  private List<Found> find(Request asked) throws InterruptedException {
    var answer = search.search(asked);
    var found = new LinkedHashMap<Object, Found>();
    answer.logs().forEach(log -> found.put(log.id(), new Found(log, null)));
    for (var hit : answer.hits()) {
      for (var recent : hit.portrait().newest()) {
        if (found.size() < asked.limit() && !found.containsKey(recent.id())) {
          var log = whole(recent);
          if (log != null) {
            found.put(log.id(), new Found(log, hit.score()));
          }
        }
      }
    }
    return new ArrayList<>(found.values()).subList(0, Math.min(found.size(), asked.limit()));
  }

  private @Nullable StoredLog whole(Recent recent) throws InterruptedException {
    var filter =
        LogFilter.of(IngestLogs.DEFAULT_TENANT)
            .service(recent.service())
            .from(recent.timeNanos())
            .to(recent.timeNanos() + 1)
            .build();
    return reader.read(new Query(filter, OF_AN_INSTANT, null)).logs().stream()
        .filter(log -> log.id().equals(recent.id()))
        .findFirst()
        .orElse(null);
  }

  private Mono<ServerResponse> answer(Request asked, List<Found> found, long tookNanos) {
    return reads.json(
        ServerResponse.ok(),
        Json.write(
            json -> {
              json.writeStartObject();
              json.writeBooleanProperty("success", true);
              json.writeStringProperty("message", "Logs found");
              json.writeObjectPropertyStart("data");
              data(asked, found, tookNanos, json);
              json.writeEndObject();
              json.writeEndObject();
            }));
  }

  private static void data(Request asked, List<Found> found, long tookNanos, JsonGenerator json) {
    json.writeStringProperty("query", asked.text());
    json.writeArrayPropertyStart("logs");
    for (var each : found) {
      json.writeStartObject();
      AppQueryHandler.fields(AppLog.of(each.log), json);
      if (each.score != null) {
        json.writeNumberProperty("similarity", each.score);
      }
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeObjectPropertyStart("metadata");
    json.writeNumberProperty("count", found.size());
    json.writeNumberProperty("limit", asked.limit());
    json.writeNumberProperty("latencyMs", tookNanos / 1_000_000);
    json.writeStringProperty("provider", "sluice");
    json.writeEndObject();
  }
}
