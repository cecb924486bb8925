package dev.sluice.api.protocol.legacy;

import dev.sluice.api.decode.Json;
import dev.sluice.api.decode.Timestamps;
import dev.sluice.api.http.BlockingQueries;
import dev.sluice.api.http.HttpProblemException;
import dev.sluice.api.http.JsonRequestBody;
import dev.sluice.api.http.QueryParameters;
import dev.sluice.api.http.RequestContextFilter;
import dev.sluice.core.ingest.RequestContext;
import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.LogReader;
import dev.sluice.query.port.LogReader.Query;
import dev.sluice.query.port.LogReader.StoredLog;
import dev.sluice.query.port.TemplateStats.SampleLog;
import dev.sluice.query.search.SearchQuery;
import dev.sluice.query.search.SearchQuery.Mode;
import dev.sluice.query.search.SemanticSearch;
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
 * The handler of {@code POST /api/logs/search}, the legacy search API: a search by meaning that
 * returns the newest log of each matching template. It ignores unknown fields, as the legacy API
 * does.
 */
final class LegacySearchHandler {
  private static final int DEFAULT_LIMIT = 20;

  /** Maximum number of logs of one service and one nanosecond that are searched for a sample. */
  private static final int MAX_LOGS_PER_TIMESTAMP = 1_000;

  private final SemanticSearch search;
  private final LogReader reader;
  private final BlockingQueries queries;

  LegacySearchHandler(SemanticSearch search, LogReader reader, BlockingQueries queries) {
    this.search = search;
    this.reader = reader;
    this.queries = queries;
  }

  /**
   * A log of the result.
   *
   * @param log the log
   * @param score the score of its template; null for a log that contains a value of the query
   */
  private record ScoredLog(StoredLog log, @Nullable Double score) {}

  /**
   * The result of a search.
   *
   * @param logs the logs, best first
   * @param keywordOnlyReason the reason why the search did not use meaning; null when it did
   */
  private record LegacySearchResult(List<ScoredLog> logs, @Nullable String keywordOnlyReason) {}

  Mono<ServerResponse> post(ServerRequest request) {
    return Mono.defer(
            () -> {
              long started = System.nanoTime();
              return JsonRequestBody.read(request)
                  .map(body -> parse(RequestContextFilter.contextOf(request), body))
                  .flatMap(
                      searchRequest ->
                          queries
                              .submit(() -> search(searchRequest))
                              .flatMap(
                                  result ->
                                      respond(searchRequest, result, System.nanoTime() - started)));
            })
        .onErrorResume(
            failure -> LegacyResponseWriter.errorResponse(BlockingQueries.toHttpProblem(failure)));
  }

  private static SearchQuery parse(RequestContext context, byte[] body) {
    var fields = JsonRequestBody.parse(body);
    var query = fields.path("query").asString("");
    if (query.isBlank() || query.length() > SearchQuery.MAX_CHARACTERS) {
      throw HttpProblemException.malformed(
          "query must have 1 to %d characters".formatted(SearchQuery.MAX_CHARACTERS));
    }
    return new SearchQuery(
        query, Mode.HYBRID, filter(context, fields), 0, limit(fields.path("limit")), 1);
  }

  private static int limit(JsonNode limit) {
    var parameters = new LinkedMultiValueMap<String, String>();
    var number = text("limit", limit);
    if (number != null) {
      parameters.add("limit", number);
    }
    return QueryParameters.withoutFilter(parameters, "limit")
        .number("limit", DEFAULT_LIMIT, SearchQuery.MAX_RESULTS);
  }

  private static LogFilter filter(RequestContext context, JsonNode fields) {
    var times = fields.path("time_range");
    if (!times.isObject() && !isAbsent(times)) {
      throw HttpProblemException.malformed("time_range is not an object with start and end");
    }
    var filter =
        LogFilter.of(context.tenant())
            .service(text("app_id", fields.path("app_id")))
            .severities(levels(fields.path("level")))
            .from(time("time_range.start", times.path("start")))
            .to(time("time_range.end", times.path("end")));
    try {
      return filter.build();
    } catch (IllegalArgumentException e) {
      throw HttpProblemException.malformed("app_id: " + e.getMessage());
    }
  }

  private static boolean isAbsent(JsonNode value) {
    return value.isMissingNode() || value.isNull();
  }

  /** Returns the value as text; null when it is absent. */
  private static @Nullable String text(String field, JsonNode value) {
    if (!value.isValueNode() && !isAbsent(value)) {
      throw HttpProblemException.malformed(field + " is not a text or a number");
    }
    if (isAbsent(value)) {
      return null;
    }
    var text = value.asString("");
    if (text.isEmpty()) { // an empty filter would match all logs
      throw HttpProblemException.malformed(field + " is empty");
    }
    return text;
  }

  private static List<Integer> levels(JsonNode level) {
    if (isAbsent(level)) {
      return List.of();
    }
    var numbers = new ArrayList<Integer>();
    for (var name : level.isArray() ? level.values() : List.of(level)) {
      if (!name.isString()) {
        throw HttpProblemException.malformed("level is neither a text nor an array of texts");
      }
      numbers.addAll(QueryParameters.severities("level", name.asString()));
    }
    return numbers;
  }

  private static @Nullable Long time(String field, JsonNode value) {
    if (isAbsent(value)) {
      return null;
    }
    try {
      return value.isNumber()
          ? Timestamps.ofNumber(value.asString())
          : Timestamps.ofText(value.asString(""));
    } catch (Timestamps.InvalidTimestampException e) {
      throw HttpProblemException.malformed(field + " " + e.reason());
    }
  }

  private LegacySearchResult search(SearchQuery searchRequest) throws InterruptedException {
    var result = search.search(searchRequest);
    var found = new LinkedHashMap<Object, ScoredLog>();
    result.logs().forEach(log -> found.put(log.id(), new ScoredLog(log, null)));
    for (var hit : result.hits()) {
      for (var sample : hit.summary().newestLogs()) {
        if (found.size() < searchRequest.limit() && !found.containsKey(sample.id())) {
          var log = loadFullLog(searchRequest.filter().tenant(), sample);
          if (log != null) {
            found.put(log.id(), new ScoredLog(log, hit.score()));
          }
        }
      }
    }
    return new LegacySearchResult(
        found.values().stream().limit(searchRequest.limit()).toList(),
        result.semanticUnavailableReason());
  }

  private @Nullable StoredLog loadFullLog(String tenant, SampleLog sample)
      throws InterruptedException {
    var filter =
        LogFilter.of(tenant)
            .service(sample.service())
            .from(sample.timeNanos())
            .to(sample.timeNanos() + 1)
            .build();
    return reader.read(new Query(filter, MAX_LOGS_PER_TIMESTAMP, null)).logs().stream()
        .filter(log -> log.id().equals(sample.id()))
        .findFirst()
        .orElse(null);
  }

  private Mono<ServerResponse> respond(
      SearchQuery searchRequest, LegacySearchResult result, long tookNanos) {
    return queries.json(
        ServerResponse.ok(),
        Json.write(
            json -> {
              json.writeStartObject();
              json.writeBooleanProperty("success", true);
              json.writeStringProperty("message", "Logs found");
              json.writeObjectPropertyStart("data");
              writeData(searchRequest, result, tookNanos, json);
              json.writeEndObject();
              json.writeEndObject();
            }));
  }

  private static void writeData(
      SearchQuery searchRequest, LegacySearchResult result, long tookNanos, JsonGenerator json) {
    json.writeStringProperty("query", searchRequest.text());
    json.writeArrayPropertyStart("logs");
    for (var scored : result.logs) {
      json.writeStartObject();
      LegacyQueryHandler.writeFields(LegacyLog.of(scored.log), json);
      if (scored.score != null) {
        json.writeNumberProperty("similarity", scored.score);
      }
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeObjectPropertyStart("metadata");
    json.writeNumberProperty("count", result.logs.size());
    json.writeNumberProperty("limit", searchRequest.limit());
    json.writeNumberProperty("latencyMs", tookNanos / 1_000_000);
    json.writeStringProperty("provider", "sluice");
    if (result.keywordOnlyReason != null) {
      json.writeStringProperty("without_meaning", result.keywordOnlyReason);
    }
    json.writeEndObject();
  }
}
