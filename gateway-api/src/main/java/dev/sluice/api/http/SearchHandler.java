package dev.sluice.api.http;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.api.decode.Json;
import dev.sluice.api.decode.Timestamps;
import dev.sluice.core.port.TemplateStats.MinuteRange;
import dev.sluice.core.port.TemplateStats.SampleLog;
import dev.sluice.core.query.AttributeCondition;
import dev.sluice.core.query.LogFilter;
import dev.sluice.core.search.SemanticSearch;
import dev.sluice.core.search.SemanticSearch.Hit;
import dev.sluice.core.search.SemanticSearch.Mode;
import dev.sluice.core.search.SemanticSearch.SearchQuery;
import dev.sluice.core.search.SemanticSearch.SearchResult;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.TreeSet;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.core.io.buffer.DataBufferLimitException;
import org.springframework.core.io.buffer.DataBufferUtils;
import org.springframework.util.LinkedMultiValueMap;
import org.springframework.util.MultiValueMap;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Mono;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonGenerator;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** {@code POST /api/v1/logs/search}: what logs mean, by a question in anybody's words. */
final class SearchHandler {
  /** Ample for a question with its attributes. */
  private static final int MOST_BYTES = 64 * 1024;

  private static final Duration BODY_WITHIN = Duration.ofSeconds(10);

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
  private final Reads reads;

  SearchHandler(SemanticSearch search, Reads reads) {
    this.search = search;
    this.reads = reads;
  }

  Mono<ServerResponse> post(ServerRequest request) {
    return Mono.defer(() -> body(request))
        .map(SearchHandler::parse)
        .flatMap(
            asked ->
                reads
                    .ask(() -> search.search(asked))
                    .flatMap(
                        answer ->
                            reads.json(
                                ServerResponse.ok(),
                                Json.write(json -> write(asked, answer, json)))))
        .onErrorResume(Reads::problem);
  }

  /** At most what a question with its attributes needs, and in time. */
  static Mono<byte[]> body(ServerRequest request) {
    if (!RequestHeaders.contentType(request).equals("application/json")) {
      throw RequestRefused.unsupported("content type is not application/json");
    }
    return DataBufferUtils.join(request.exchange().getRequest().getBody(), MOST_BYTES)
        .map(
            buffer -> {
              try {
                var bytes = new byte[buffer.readableByteCount()];
                buffer.read(bytes);
                return bytes;
              } finally {
                DataBufferUtils.release(buffer);
              }
            })
        .defaultIfEmpty(new byte[0])
        .timeout(BODY_WITHIN)
        .onErrorMap(DataBufferLimitException.class, _ -> RequestBody.tooLarge(MOST_BYTES))
        .onErrorMap(TimeoutException.class, _ -> RequestRefused.tooSlow(BODY_WITHIN));
  }

  private static SearchQuery parse(byte[] body) {
    var asked = object(body);
    for (var name : asked.propertyNames()) {
      if (!FIELDS.contains(name)) {
        throw RequestRefused.malformed("unknown field; known are " + String.join(", ", FIELDS));
      }
    }
    var parameters =
        new QueryParameters(scalars(asked), "query", "mode", "limit", "samples", "cursor");
    var query = parameters.first("query");
    if (query == null || query.isBlank()) {
      throw RequestRefused.malformed("query is missing or empty");
    }
    if (query.length() > SearchQuery.MAX_CHARACTERS) {
      throw RequestRefused.malformed(
          "query has %d characters, at most %d"
              .formatted(query.length(), SearchQuery.MAX_CHARACTERS));
    }
    var searchQuery =
        new SearchQuery(
            query,
            mode(parameters.first("mode")),
            filter(parameters.filter(), asked.path("attributes")),
            0,
            parameters.number("limit", SearchQuery.DEFAULT_LIMIT, SearchQuery.MAX_RESULTS),
            parameters.number("samples", 1, SearchQuery.MAX_LOGS_PER_TEMPLATE));
    var cursor = parameters.first("cursor");
    try {
      return cursor == null ? searchQuery : searchQuery.after(cursor);
    } catch (IllegalArgumentException e) {
      throw RequestRefused.malformed("cursor " + e.getMessage());
    }
  }

  static ObjectNode object(byte[] body) {
    try {
      // by itself Jackson would take other encodings, and overlong forms of this one
      var text = UTF_8.newDecoder().decode(ByteBuffer.wrap(body)).toString();
      if (JSON.readTree(text) instanceof ObjectNode object) {
        return object;
      }
    } catch (CharacterCodingException | JacksonException _) {
      // falls through to the answer
    }
    throw RequestRefused.malformed("body is no JSON object in UTF-8");
  }

  /** As a query string would have them; attributes have a form of their own. */
  private static MultiValueMap<String, String> scalars(ObjectNode asked) {
    var values = new LinkedMultiValueMap<String, String>();
    for (var field : asked.properties()) {
      var value = field.getValue();
      if (field.getKey().equals("attributes") || value.isNull()) {
        continue;
      }
      for (var each : value.isArray() ? value : JSON.createArrayNode().add(value)) {
        if (!each.isValueNode() || each.isNull()) {
          throw RequestRefused.malformed(field.getKey() + " is not a text or a number");
        }
        values.add(field.getKey(), written(each));
      }
    }
    return values;
  }

  /** Without an exponent, which no query string has. */
  private static String written(JsonNode value) {
    return value.isFloatingPointNumber() && Double.isFinite(value.doubleValue())
        ? value.decimalValue().toPlainString()
        : value.asString();
  }

  private static LogFilter filter(LogFilter filter, JsonNode attributes) {
    if (attributes.isMissingNode() || attributes.isNull()) {
      return filter;
    }
    if (!attributes.isObject()) {
      throw RequestRefused.malformed("attributes is no object of names and values");
    }
    var conditions = new ArrayList<AttributeCondition>();
    for (var attribute : attributes.properties()) {
      if (!attribute.getValue().isValueNode() || attribute.getValue().isNull()) {
        throw RequestRefused.malformed("a value in attributes is not a text or a number");
      }
      conditions.add(AttributeCondition.equal(attribute.getKey(), attribute.getValue().asString()));
    }
    try {
      return filter.withAttributes(conditions);
    } catch (IllegalArgumentException e) {
      throw RequestRefused.malformed(String.valueOf(e.getMessage()));
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
                    RequestRefused.malformed(
                        Arrays.stream(Mode.values())
                            .map(SearchHandler::lower)
                            .collect(Collectors.joining(", ", "mode is not one of ", ""))));
  }

  private static String lower(Enum<?> name) {
    return name.name().toLowerCase(Locale.ROOT);
  }

  private static void write(SearchQuery asked, SearchResult answer, JsonGenerator json) {
    json.writeStartObject();
    json.writeStringProperty("mode", lower(asked.mode()));
    if (answer.semanticUnavailableReason() != null) {
      json.writeStringProperty("without_meaning", answer.semanticUnavailableReason());
    }
    json.writeNumberProperty("templates_without_vectors", answer.backlog());
    json.writeArrayPropertyStart("templates");
    for (var hit : answer.hits()) {
      write(hit, answer, json);
    }
    json.writeEndArray();
    json.writeArrayPropertyStart("logs");
    answer.logs().forEach(log -> LogJson.write(log, json));
    json.writeEndArray();
    if (answer.hasMore()) {
      json.writeStringProperty("next_cursor", asked.nextCursor());
    }
    json.writeEndObject();
  }

  private static void write(Hit hit, SearchResult answer, JsonGenerator json) {
    json.writeStartObject();
    TemplatesHandler.write(hit.summary().template(), json);
    json.writeNumberProperty("score", hit.score());
    json.writeArrayPropertyStart("matched");
    new TreeSet<>(hit.reasons()).forEach(why -> json.writeString(lower(why)));
    json.writeEndArray();
    json.writeObjectPropertyStart("sparkline");
    json.writeStringProperty(
        "from", Timestamps.format(MinuteRange.startNanos(answer.startMinute())));
    json.writeNumberProperty("step_seconds", answer.bucketMinutes() * 60);
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
