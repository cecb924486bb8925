package dev.sluice.api.http;

import dev.sluice.api.decode.Json;
import dev.sluice.api.decode.Timestamps;
import dev.sluice.core.domain.Severity;
import dev.sluice.core.ingest.IngestLogs;
import dev.sluice.core.port.LogReader;
import dev.sluice.core.port.LogReader.Page;
import dev.sluice.core.port.LogReader.Position;
import dev.sluice.core.port.LogReader.Query;
import dev.sluice.core.port.LogReader.StoredLog;
import dev.sluice.core.query.AttributeCondition;
import dev.sluice.core.query.LogFilter;
import dev.sluice.core.query.TextQuery;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.http.MediaType;
import org.springframework.util.MultiValueMap;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Mono;
import reactor.core.scheduler.Scheduler;
import reactor.core.scheduler.Schedulers;
import tools.jackson.core.JsonGenerator;

/** {@code GET /api/v1/logs}: stored logs, newest first, page by page. */
final class QueryHandler {
  private static final Logger LOG = LoggerFactory.getLogger(QueryHandler.class);
  private static final int DEFAULT_LIMIT = 100;
  private static final int MAX_LIMIT = 1000;
  private static final Duration BUSY = Duration.ofSeconds(1);
  private static final Duration AFTER_FAILURE = Duration.ofSeconds(5);
  private static final Set<String> PARAMETERS =
      new TreeSet<>(
          List.of(
              "service",
              "severity",
              "from",
              "to",
              "trace_id",
              "text",
              "attributes",
              "limit",
              "cursor"));

  private final LogReader reader;

  /** A query blocks a virtual thread, which is cheap; what it costs ClickHouse is not. */
  private final Semaphore atOnce = new Semaphore(16);

  private final Scheduler scheduler =
      Schedulers.fromExecutorService(Executors.newVirtualThreadPerTaskExecutor());

  QueryHandler(LogReader reader) {
    this.reader = reader;
  }

  Mono<ServerResponse> get(ServerRequest request) {
    return Mono.defer(() -> read(query(request.queryParams())))
        .flatMap(
            page ->
                ServerResponse.ok()
                    .contentType(MediaType.APPLICATION_JSON)
                    .bodyValue(Json.write(json -> page(page, json))))
        .onErrorResume(RequestRefused.class, Problem::of)
        .onErrorResume(
            e -> {
              LOG.warn("query failed: {}", e.toString());
              return Problem.of(RequestRefused.unreadable(AFTER_FAILURE));
            });
  }

  private Mono<Page> read(Query query) {
    if (!atOnce.tryAcquire()) {
      return Mono.error(RequestRefused.unreadable(BUSY));
    }
    return Mono.fromCallable(() -> reader.read(query))
        .subscribeOn(scheduler)
        .doFinally(_ -> atOnce.release());
  }

  private static Query query(MultiValueMap<String, String> parameters) {
    for (var name : parameters.keySet()) {
      if (!PARAMETERS.contains(name)) {
        throw RequestRefused.malformed(
            "unknown parameter; known are " + String.join(", ", PARAMETERS));
      }
    }
    try {
      return new Query(
          filter(parameters),
          limit(first(parameters, "limit")),
          position(first(parameters, "cursor")));
    } catch (IllegalArgumentException e) {
      throw RequestRefused.malformed(String.valueOf(e.getMessage()));
    }
  }

  private static LogFilter filter(MultiValueMap<String, String> parameters) {
    var text = first(parameters, "text");
    var filter =
        LogFilter.of(IngestLogs.DEFAULT_TENANT)
            .service(first(parameters, "service"))
            .severities(severities(parameters.getOrDefault("severity", List.of())))
            .from(time(parameters, "from"))
            .to(time(parameters, "to"))
            .traceId(traceId(first(parameters, "trace_id")))
            .text(text == null ? null : text(text));
    attributes(parameters.getOrDefault("attributes", List.of()))
        .forEach((key, value) -> filter.attribute(AttributeCondition.equal(key, value)));
    return filter.build();
  }

  private static TextQuery text(String text) {
    try {
      return TextQuery.parse(text);
    } catch (IllegalArgumentException e) {
      throw RequestRefused.malformed("text has " + e.getMessage());
    }
  }

  private static @Nullable String first(MultiValueMap<String, String> parameters, String name) {
    var values = parameters.get(name);
    if (values == null || values.isEmpty()) {
      return null;
    }
    if (values.size() > 1) {
      throw RequestRefused.malformed(name + " is given more than once");
    }
    var value = values.getFirst();
    return value == null || value.isEmpty() ? null : value;
  }

  /** A level stands for its four numbers, {@code INFO2} and the like for one. */
  private static List<Integer> severities(List<String> values) {
    var numbers = new ArrayList<Integer>();
    for (var value : values) {
      for (var name : value.split(",", -1)) {
        var number = Severity.numberOf(name);
        if (number.isEmpty()) {
          throw RequestRefused.malformed(
              "severity is not one of TRACE, DEBUG, INFO, WARN, ERROR, FATAL");
        }
        int lowest = number.getAsInt();
        boolean level =
            Arrays.stream(Severity.values())
                .anyMatch(l -> l.name().equals(name.strip().toUpperCase(Locale.ROOT)));
        for (int i = 0; i < (level ? 4 : 1); i++) {
          numbers.add(lowest + i);
        }
      }
    }
    return numbers;
  }

  private static @Nullable Long time(MultiValueMap<String, String> parameters, String name) {
    var value = first(parameters, name);
    if (value == null) {
      return null;
    }
    try {
      return Timestamps.ofText(value);
    } catch (Timestamps.Unusable e) {
      throw RequestRefused.malformed(name + " " + e.reason());
    }
  }

  private static @Nullable String traceId(@Nullable String value) {
    if (value == null) {
      return null;
    }
    if (!value.matches("[0-9a-fA-F]{32}")) {
      throw RequestRefused.malformed("trace_id is not 32 hexadecimal digits");
    }
    return value.toLowerCase(Locale.ROOT);
  }

  private static Map<String, String> attributes(List<String> pairs) {
    var attributes = new LinkedHashMap<String, String>();
    for (var pair : pairs) {
      int equals = pair.indexOf('=');
      if (equals <= 0) {
        throw RequestRefused.malformed("attributes is not key=value");
      }
      var value = pair.substring(equals + 1);
      var before = attributes.putIfAbsent(pair.substring(0, equals), value);
      if (before != null && !before.equals(value)) {
        throw RequestRefused.malformed("attributes has two values for one key");
      }
    }
    return attributes;
  }

  private static int limit(@Nullable String value) {
    if (value == null) {
      return DEFAULT_LIMIT;
    }
    try {
      int limit = Integer.parseInt(value);
      if (limit >= 1 && limit <= MAX_LIMIT) {
        return limit;
      }
    } catch (NumberFormatException _) {
      // falls through to the answer
    }
    throw RequestRefused.malformed("limit is not a number from 1 to " + MAX_LIMIT);
  }

  private static @Nullable Position position(@Nullable String cursor) {
    if (cursor == null) {
      return null;
    }
    try {
      return Position.ofCursor(cursor);
    } catch (IllegalArgumentException _) {
      throw RequestRefused.malformed("cursor is none that was given out");
    }
  }

  private static void page(Page page, JsonGenerator json) {
    json.writeStartObject();
    json.writeArrayPropertyStart("logs");
    page.logs().forEach(log -> log(log, json));
    json.writeEndArray();
    var next = page.next();
    if (next != null) {
      json.writeStringProperty("next_cursor", next.toCursor());
    }
    json.writeEndObject();
  }

  private static void log(StoredLog log, JsonGenerator json) {
    json.writeStartObject();
    json.writeStringProperty("id", log.id().toHex());
    json.writeStringProperty("timestamp", Timestamps.format(log.timeNanos()));
    json.writeStringProperty("observed_timestamp", Timestamps.format(log.observedNanos()));
    json.writeStringProperty("received_timestamp", Timestamps.format(log.receivedNanos()));
    json.writeNumberProperty("severity_number", log.severityNumber());
    json.writeStringProperty("severity_text", log.severityText());
    json.writeStringProperty("service", log.service());
    json.writeStringProperty("body", log.body());
    json.writeStringProperty("trace_id", log.traceId());
    json.writeStringProperty("span_id", log.spanId());
    json.writeNumberProperty("flags", log.flags());
    json.writeStringProperty("event_name", log.eventName());
    map("attributes", log.attributes(), json);
    json.writeNumberProperty("dropped_attributes_count", log.droppedAttributes());
    map("resource", log.resource(), json);
    json.writeStringProperty("resource_schema_url", log.resourceSchemaUrl());
    json.writeObjectPropertyStart("scope");
    json.writeStringProperty("name", log.scopeName());
    json.writeStringProperty("version", log.scopeVersion());
    map("attributes", log.scope(), json);
    json.writeStringProperty("schema_url", log.scopeSchemaUrl());
    json.writeEndObject();
    json.writeEndObject();
  }

  private static void map(String name, Map<String, String> map, JsonGenerator json) {
    json.writeObjectPropertyStart(name);
    map.forEach(json::writeStringProperty);
    json.writeEndObject();
  }
}
