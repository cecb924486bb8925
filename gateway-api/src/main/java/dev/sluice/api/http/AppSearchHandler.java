package dev.sluice.api.http;

import dev.sluice.api.decode.Json;
import dev.sluice.api.decode.LegacyLog;
import dev.sluice.api.decode.Timestamps;
import dev.sluice.core.ingest.IngestService;
import dev.sluice.core.port.LogReader;
import dev.sluice.core.port.LogReader.Query;
import dev.sluice.core.port.LogReader.StoredLog;
import dev.sluice.core.port.TemplateStats.SampleLog;
import dev.sluice.core.query.LogFilter;
import dev.sluice.core.search.SemanticSearch;
import dev.sluice.core.search.SemanticSearch.Mode;
import dev.sluice.core.search.SemanticSearch.SearchQuery;
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

  private final SemanticSearch search;
  private final LogReader reader;
  private final Reads reads;

  AppSearchHandler(SemanticSearch search, LogReader reader, Reads reads) {
    this.search = search;
    this.reader = reader;
    this.reads = reads;
  }

  /**
   * @param score of its template; what holds a value that was asked for has none
   */
  private record Found(StoredLog log, @Nullable Double score) {}

  /**
   * @param withoutMeaning why meaning had no part in it; null when it had
   */
  private record Outcome(List<Found> found, @Nullable String withoutMeaning) {}

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
                              .flatMap(
                                  outcome -> answer(asked, outcome, System.nanoTime() - started)));
            })
        .onErrorResume(failure -> AppLogsHandler.refused(Reads.refusal(failure)));
  }

  private static SearchQuery parse(byte[] body) {
    var asked = SearchHandler.object(body);
    var query = asked.path("query").asString("");
    if (query.isBlank() || query.length() > SearchQuery.MAX_CHARACTERS) {
      throw RequestRefused.malformed(
          "query must have 1 to %d characters".formatted(SearchQuery.MAX_CHARACTERS));
    }
    return new SearchQuery(query, Mode.HYBRID, filter(asked), 0, limit(asked.path("limit")), 1);
  }

  private static int limit(JsonNode limit) {
    var parameters = new LinkedMultiValueMap<String, String>();
    var number = text("limit", limit);
    if (number != null) {
      parameters.add("limit", number);
    }
    return QueryParameters.only(parameters, "limit")
        .number("limit", DEFAULT_LIMIT, SearchQuery.MAX_RESULTS);
  }

  private static LogFilter filter(JsonNode asked) {
    var times = asked.path("time_range");
    if (!times.isObject() && !absent(times)) {
      throw RequestRefused.malformed("time_range is no object of start and end");
    }
    var filter =
        LogFilter.of(IngestService.DEFAULT_TENANT)
            .service(text("app_id", asked.path("app_id")))
            .severities(levels(asked.path("level")))
            .from(time("time_range.start", times.path("start")))
            .to(time("time_range.end", times.path("end")));
    try {
      return filter.build();
    } catch (IllegalArgumentException e) {
      throw RequestRefused.malformed("app_id: " + e.getMessage());
    }
  }

  private static boolean absent(JsonNode value) {
    return value.isMissingNode() || value.isNull();
  }

  /** Null when there is none. */
  private static @Nullable String text(String field, JsonNode value) {
    if (!value.isValueNode() && !absent(value)) {
      throw RequestRefused.malformed(field + " is not a text or a number");
    }
    if (absent(value)) {
      return null;
    }
    var text = value.asString("");
    if (text.isEmpty()) { // rather than to take it for all of them
      throw RequestRefused.malformed(field + " is empty");
    }
    return text;
  }

  private static List<Integer> levels(JsonNode level) {
    if (absent(level)) {
      return List.of();
    }
    var numbers = new ArrayList<Integer>();
    for (var name : level.isArray() ? level.values() : List.of(level)) {
      if (!name.isString()) {
        throw RequestRefused.malformed("level is neither a text nor an array of texts");
      }
      numbers.addAll(QueryParameters.severities("level", name.asString()));
    }
    return numbers;
  }

  private static @Nullable Long time(String field, JsonNode value) {
    if (absent(value)) {
      return null;
    }
    try {
      return value.isNumber()
          ? Timestamps.ofNumber(value.asString())
          : Timestamps.ofText(value.asString(""));
    } catch (Timestamps.InvalidTimestampException e) {
      throw RequestRefused.malformed(field + " " + e.reason());
    }
  }

  private Outcome find(SearchQuery asked) throws InterruptedException {
    var answer = search.search(asked);
    var found = new LinkedHashMap<Object, Found>();
    answer.logs().forEach(log -> found.put(log.id(), new Found(log, null)));
    for (var hit : answer.hits()) {
      for (var recent : hit.summary().newestLogs()) {
        if (found.size() < asked.limit() && !found.containsKey(recent.id())) {
          var log = whole(recent);
          if (log != null) {
            found.put(log.id(), new Found(log, hit.score()));
          }
        }
      }
    }
    return new Outcome(
        found.values().stream().limit(asked.limit()).toList(), answer.semanticUnavailableReason());
  }

  private @Nullable StoredLog whole(SampleLog recent) throws InterruptedException {
    var filter =
        LogFilter.of(IngestService.DEFAULT_TENANT)
            .service(recent.service())
            .from(recent.timeNanos())
            .to(recent.timeNanos() + 1)
            .build();
    return reader.read(new Query(filter, OF_AN_INSTANT, null)).logs().stream()
        .filter(log -> log.id().equals(recent.id()))
        .findFirst()
        .orElse(null);
  }

  private Mono<ServerResponse> answer(SearchQuery asked, Outcome outcome, long tookNanos) {
    return reads.json(
        ServerResponse.ok(),
        Json.write(
            json -> {
              json.writeStartObject();
              json.writeBooleanProperty("success", true);
              json.writeStringProperty("message", "Logs found");
              json.writeObjectPropertyStart("data");
              data(asked, outcome, tookNanos, json);
              json.writeEndObject();
              json.writeEndObject();
            }));
  }

  private static void data(SearchQuery asked, Outcome outcome, long tookNanos, JsonGenerator json) {
    json.writeStringProperty("query", asked.text());
    json.writeArrayPropertyStart("logs");
    for (var each : outcome.found) {
      json.writeStartObject();
      AppQueryHandler.fields(LegacyLog.of(each.log), json);
      if (each.score != null) {
        json.writeNumberProperty("similarity", each.score);
      }
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeObjectPropertyStart("metadata");
    json.writeNumberProperty("count", outcome.found.size());
    json.writeNumberProperty("limit", asked.limit());
    json.writeNumberProperty("latencyMs", tookNanos / 1_000_000);
    json.writeStringProperty("provider", "sluice");
    if (outcome.withoutMeaning != null) {
      json.writeStringProperty("without_meaning", outcome.withoutMeaning);
    }
    json.writeEndObject();
  }
}
