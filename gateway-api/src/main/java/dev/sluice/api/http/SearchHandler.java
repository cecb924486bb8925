package dev.sluice.api.http;

import dev.sluice.api.decode.Json;
import dev.sluice.api.decode.Timestamps;
import dev.sluice.core.ingest.RequestContext;
import dev.sluice.query.filter.AttributeCondition;
import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.TemplateStats.MinuteRange;
import dev.sluice.query.port.TemplateStats.SampleLog;
import dev.sluice.query.search.SearchQuery;
import dev.sluice.query.search.SearchQuery.Mode;
import dev.sluice.query.search.SearchResult;
import dev.sluice.query.search.SearchResult.Hit;
import dev.sluice.query.search.SemanticSearch;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.util.LinkedMultiValueMap;
import org.springframework.util.MultiValueMap;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Mono;
import tools.jackson.core.JsonGenerator;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** The handler of {@code POST /api/v1/logs/search}, the search by meaning. */
final class SearchHandler {
  private static final List<String> FIELDS =
      List.of(
          "query",
          "mode",
          "service",
          "severity",
          "min_severity",
          "from",
          "to",
          "attributes",
          "limit",
          "samples",
          "cursor");

  private static final JsonMapper JSON = new JsonMapper();

  private final SemanticSearch search;
  private final BlockingQueries queries;

  SearchHandler(SemanticSearch search, BlockingQueries queries) {
    this.search = search;
    this.queries = queries;
  }

  Mono<ServerResponse> post(ServerRequest request) {
    return Mono.defer(() -> JsonRequestBody.read(request))
        .map(body -> parse(RequestContextFilter.contextOf(request), body))
        .flatMap(
            searchRequest ->
                queries
                    .submit(() -> search.search(searchRequest))
                    .flatMap(
                        result ->
                            queries.json(
                                ServerResponse.ok(),
                                Json.write(json -> write(searchRequest, result, json)))))
        .onErrorResume(BlockingQueries::toProblemResponse);
  }

  private static SearchQuery parse(RequestContext context, byte[] body) {
    var fields = JsonRequestBody.parse(body);
    for (var name : fields.propertyNames()) {
      if (!FIELDS.contains(name)) {
        throw HttpProblemException.malformed(
            "unknown field; known are " + String.join(", ", FIELDS));
      }
    }
    var parameters =
        new QueryParameters(scalars(fields), "query", "mode", "limit", "samples", "cursor");
    var query = parameters.singleValue("query");
    if (query == null || query.isBlank()) {
      throw HttpProblemException.malformed("query is missing or empty");
    }
    if (query.length() > SearchQuery.MAX_CHARACTERS) {
      throw HttpProblemException.malformed(
          "query has %d characters, must have at most %d"
              .formatted(query.length(), SearchQuery.MAX_CHARACTERS));
    }
    var searchQuery =
        new SearchQuery(
            query,
            mode(parameters.singleValue("mode")),
            filter(parameters.filter(context), fields.path("attributes")),
            0,
            parameters.number("limit", SearchQuery.DEFAULT_LIMIT, SearchQuery.MAX_RESULTS),
            parameters.number("samples", 1, SearchQuery.MAX_LOGS_PER_TEMPLATE));
    var cursor = parameters.singleValue("cursor");
    try {
      return cursor == null ? searchQuery : searchQuery.after(cursor);
    } catch (IllegalArgumentException e) {
      throw HttpProblemException.malformed("cursor " + e.getMessage());
    }
  }

  /** Returns the fields as query parameters, without attributes, which are an object. */
  private static MultiValueMap<String, String> scalars(ObjectNode fields) {
    var values = new LinkedMultiValueMap<String, String>();
    for (var field : fields.properties()) {
      var value = field.getValue();
      if (field.getKey().equals("attributes") || value.isNull()) {
        continue;
      }
      for (var each : value.isArray() ? value : JSON.createArrayNode().add(value)) {
        if (!each.isValueNode() || each.isNull()) {
          throw HttpProblemException.malformed(field.getKey() + " is not a text or a number");
        }
        values.add(field.getKey(), toPlainText(each));
      }
    }
    return values;
  }

  /** Returns a value as text, a number without an exponent, as in a query string. */
  private static String toPlainText(JsonNode value) {
    return value.isFloatingPointNumber() && Double.isFinite(value.doubleValue())
        ? value.decimalValue().toPlainString()
        : value.asString();
  }

  private static LogFilter filter(LogFilter filter, JsonNode attributes) {
    if (attributes.isMissingNode() || attributes.isNull()) {
      return filter;
    }
    if (!attributes.isObject()) {
      throw HttpProblemException.malformed("attributes is not an object of names and values");
    }
    var conditions = new ArrayList<AttributeCondition>();
    for (var attribute : attributes.properties()) {
      if (!attribute.getValue().isValueNode() || attribute.getValue().isNull()) {
        throw HttpProblemException.malformed("a value in attributes is not a text or a number");
      }
      conditions.add(AttributeCondition.equal(attribute.getKey(), attribute.getValue().asString()));
    }
    try {
      return filter.withAttributes(conditions);
    } catch (IllegalArgumentException e) {
      throw HttpProblemException.malformed(String.valueOf(e.getMessage()));
    }
  }

  private static Mode mode(@Nullable String name) {
    return name == null
        ? Mode.HYBRID
        : Arrays.stream(Mode.values())
            .filter(mode -> lower(mode).equals(name))
            .findFirst()
            .orElseThrow(
                () ->
                    HttpProblemException.malformed(
                        Arrays.stream(Mode.values())
                            .map(SearchHandler::lower)
                            .collect(Collectors.joining(", ", "mode is not one of ", ""))));
  }

  private static String lower(Enum<?> name) {
    return name.name().toLowerCase(Locale.ROOT);
  }

  private static void write(SearchQuery searchRequest, SearchResult result, JsonGenerator json) {
    json.writeStartObject();
    json.writeStringProperty("mode", lower(searchRequest.mode()));
    if (result.semanticUnavailableReason() != null) {
      json.writeStringProperty("without_meaning", result.semanticUnavailableReason());
    }
    json.writeNumberProperty("templates_without_vectors", result.backlog());
    json.writeArrayPropertyStart("templates");
    for (var hit : result.hits()) {
      write(hit, result, json);
    }
    json.writeEndArray();
    json.writeArrayPropertyStart("logs");
    result.logs().forEach(log -> LogJson.write(log, json));
    json.writeEndArray();
    if (result.hasMore()) {
      json.writeStringProperty("next_cursor", searchRequest.nextCursor());
    }
    json.writeEndObject();
  }

  private static void write(Hit hit, SearchResult result, JsonGenerator json) {
    json.writeStartObject();
    TemplatesHandler.write(hit.summary().template(), json);
    json.writeNumberProperty("score", hit.score());
    json.writeArrayPropertyStart("matched");
    new TreeSet<>(hit.reasons()).forEach(reason -> json.writeString(lower(reason)));
    json.writeEndArray();
    json.writeObjectPropertyStart("sparkline");
    json.writeStringProperty(
        "from", Timestamps.format(MinuteRange.startNanos(result.startMinute())));
    json.writeNumberProperty("step_seconds", result.bucketMinutes() * 60);
    json.writeArrayPropertyStart("counts");
    hit.summary().bucketCounts().forEach(json::writeNumber);
    json.writeEndArray();
    json.writeEndObject();
    json.writeArrayPropertyStart("samples");
    hit.summary().newestLogs().forEach(log -> write(log, json));
    json.writeEndArray();
    json.writeEndObject();
  }

  private static void write(SampleLog log, JsonGenerator json) {
    json.writeStartObject();
    json.writeStringProperty("id", log.id().toHex());
    json.writeStringProperty("timestamp", Timestamps.format(log.timeNanos()));
    json.writeNumberProperty("severity_number", log.severityNumber());
    json.writeStringProperty("service", log.service());
    json.writeStringProperty("body", log.body());
    json.writeEndObject();
  }
}
