package dev.sluice.api.protocol.legacy;

import dev.sluice.api.decode.Json;
import dev.sluice.api.decode.Timestamps;
import dev.sluice.api.http.BlockingQueries;
import dev.sluice.api.http.HttpProblemException;
import dev.sluice.api.http.QueryParameters;
import dev.sluice.api.http.RequestContextFilter;
import dev.sluice.core.ingest.RequestContext;
import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.LogReader;
import dev.sluice.query.port.LogReader.LogPage;
import dev.sluice.query.port.LogReader.Query;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.util.LinkedMultiValueMap;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Mono;
import tools.jackson.core.JsonGenerator;

/**
 * The handler of {@code GET /api/logs/{app_id}}, the legacy query API: the newest logs of one app.
 * It ignores unknown parameters, as the legacy API does.
 */
final class LegacyQueryHandler {
  private static final Set<String> PARAMETERS = Set.of("limit", "cursor");

  private final LogReader reader;
  private final BlockingQueries queries;

  LegacyQueryHandler(LogReader reader, BlockingQueries queries) {
    this.reader = reader;
    this.queries = queries;
  }

  Mono<ServerResponse> get(ServerRequest request) {
    return Mono.defer(
            () -> {
              long started = System.nanoTime();
              var appId = request.pathVariable("app_id");
              var query = query(appId, request);
              return queries
                  .submit(() -> reader.read(query))
                  .flatMap(
                      page -> respond(appId, query.limit(), page, System.nanoTime() - started));
            })
        .onErrorResume(
            failure -> LegacyResponseWriter.errorResponse(BlockingQueries.toHttpProblem(failure)));
  }

  private static Query query(String appId, ServerRequest request) {
    var known = new LinkedMultiValueMap<>(request.queryParams());
    known.keySet().retainAll(PARAMETERS);
    var parameters = new QueryParameters(known, "limit", "cursor");
    return new Query(
        filter(RequestContextFilter.contextOf(request), appId),
        parameters.number("limit", LegacyLog.DEFAULT_LIMIT, LegacyLog.MAX_LIMIT),
        parameters.cursor());
  }

  private static LogFilter filter(RequestContext context, String appId) {
    try {
      return LogFilter.of(context.tenant()).service(appId).build();
    } catch (IllegalArgumentException e) {
      throw HttpProblemException.malformed("app_id: " + e.getMessage());
    }
  }

  private Mono<ServerResponse> respond(String appId, int limit, LogPage page, long tookNanos) {
    return queries.json(
        ServerResponse.ok(),
        Json.write(
            json -> {
              json.writeStartObject();
              json.writeBooleanProperty("success", true);
              json.writeStringProperty("message", "Logs retrieved");
              json.writeObjectPropertyStart("data");
              writeData(appId, limit, page, tookNanos, json);
              json.writeEndObject();
              json.writeEndObject();
            }));
  }

  private static void writeData(
      String appId, int limit, LogPage page, long tookNanos, JsonGenerator json) {
    int count = page.logs().size();
    var next = page.next();
    json.writeStringProperty("appId", appId);
    json.writeNumberProperty("count", count);
    json.writeBooleanProperty("hasMore", next != null);
    json.writeNumberProperty("queryTime", tookNanos / 1_000_000);
    json.writeNumberProperty("logsPerSecond", Math.round(count * 1e9 / Math.max(1, tookNanos)));
    json.writeStringProperty("timestamp", Instant.now().truncatedTo(ChronoUnit.MILLIS).toString());
    json.writeObjectPropertyStart("filter");
    json.writeStringProperty("app_id", appId);
    json.writeEndObject();
    json.writeNumberProperty("limit", limit);
    json.writeArrayPropertyStart("logs");
    page.logs().forEach(log -> writeLog(LegacyLog.of(log), json));
    json.writeEndArray();
    writeNullable("nextCursor", next == null ? null : next.toCursor(), json);
    json.writeNumberProperty("actualLimit", count);
  }

  private static void writeLog(LegacyLog log, JsonGenerator json) {
    json.writeStartObject();
    writeFields(log, json);
    json.writeEndObject();
  }

  /** Writes the fields of a log into the current JSON object. */
  static void writeFields(LegacyLog log, JsonGenerator json) {
    json.writeStringProperty("id", log.id());
    json.writeStringProperty("app_id", log.appId());
    json.writeStringProperty("timestamp", Timestamps.format(log.timeNanos()));
    json.writeStringProperty("level", log.level().name());
    json.writeStringProperty("message", log.message());
    json.writeStringProperty("source", log.source());
    json.writeStringProperty("environment", log.environment());
    json.writeObjectPropertyStart("metadata");
    log.metadata().forEach(json::writeStringProperty);
    json.writeEndObject();
    writeNullable("trace_id", log.traceId(), json);
    writeNullable("user_id", log.userId(), json);
  }

  private static void writeNullable(String name, @Nullable String value, JsonGenerator json) {
    if (value == null) {
      json.writeNullProperty(name);
    } else {
      json.writeStringProperty(name, value);
    }
  }
}
