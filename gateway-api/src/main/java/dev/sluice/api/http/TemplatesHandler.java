package dev.sluice.api.http;

import dev.sluice.api.decode.Json;
import dev.sluice.api.decode.Timestamps;
import dev.sluice.api.http.ApiRoutes.QueryDependencies;
import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.LogReader.Query;
import dev.sluice.query.port.TemplateStats.MinuteRange;
import dev.sluice.query.port.TemplateStats.TemplateQuery;
import dev.sluice.query.read.TemplateReport.Listing;
import dev.sluice.query.read.TemplateReport.Template;
import dev.sluice.query.read.TemplateReport.TemplateDetail;
import dev.sluice.query.read.TemplateReport.View;
import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Mono;
import tools.jackson.core.JsonGenerator;

/** The handler of {@code GET /api/v1/templates} and its subresources: templates with counts. */
final class TemplatesHandler {
  private static final int DEFAULT_LIMIT = 50;
  private static final int MAX_LIMIT = 1000;
  private static final long DEFAULT_MINUTES = Duration.ofHours(1).toMinutes();

  private final QueryDependencies dependencies;
  private final BlockingQueries queries;

  TemplatesHandler(QueryDependencies dependencies, BlockingQueries queries) {
    this.dependencies = dependencies;
    this.queries = queries;
  }

  Mono<ServerResponse> list(ServerRequest request) {
    return Mono.defer(
            () -> {
              var parameters =
                  QueryParameters.withoutFilter(
                      request.queryParams(),
                      "view",
                      "from",
                      "to",
                      "service",
                      "severity",
                      "min_severity",
                      "limit");
              var query = templateQuery(request, parameters);
              var view = view(parameters);
              int limit = parameters.number("limit", DEFAULT_LIMIT, MAX_LIMIT);
              return queries
                  .submit(() -> dependencies.templates().list(query, view, limit))
                  .flatMap(listing -> jsonResponse(query.minuteRange(), listing));
            })
        .onErrorResume(BlockingQueries::toProblemResponse);
  }

  Mono<ServerResponse> get(ServerRequest request) {
    return Mono.defer(
            () -> {
              var id = id(request);
              var query =
                  templateQuery(
                      request,
                      QueryParameters.withoutFilter(
                          request.queryParams(),
                          "from",
                          "to",
                          "service",
                          "severity",
                          "min_severity"));
              return queries
                  .submit(() -> dependencies.templates().find(query, id))
                  .flatMap(
                      found ->
                          found.isEmpty()
                              ? templateNotFound()
                              : jsonResponse(query.minuteRange(), found.orElseThrow()));
            })
        .onErrorResume(BlockingQueries::toProblemResponse);
  }

  /** Responds with stored logs of a template. */
  Mono<ServerResponse> logs(ServerRequest request) {
    return Mono.defer(
            () -> {
              var id = id(request);
              var tenant = RequestContextFilter.contextOf(request).tenant();
              var parameters =
                  QueryParameters.withoutFilter(
                      request.queryParams(), "from", "to", "limit", "cursor");
              var from = parameters.time("from");
              var to = parameters.time("to");
              int limit =
                  parameters.number("limit", QueryHandler.DEFAULT_LIMIT, QueryHandler.MAX_LIMIT);
              var after = parameters.cursor();
              return queries
                  .submit(() -> dependencies.templates().activeRange(tenant, id))
                  .flatMap(
                      activeRange ->
                          activeRange.isEmpty()
                              ? templateNotFound()
                              : page(
                                  new Query(
                                      sampleFilter(tenant, id, from, to, activeRange.orElseThrow()),
                                      limit,
                                      after)));
            })
        .onErrorResume(BlockingQueries::toProblemResponse);
  }

  /** Returns a filter limited to the active time of the template, for fast queries of rare ones. */
  private static LogFilter sampleFilter(
      String tenant, UUID id, @Nullable Long from, @Nullable Long to, MinuteRange activeRange) {
    return LogFilter.of(tenant)
        .template(id)
        .from(from == null ? (Long) MinuteRange.startNanos(activeRange.from()) : from)
        .to(to == null ? (Long) MinuteRange.startNanos(activeRange.to()) : to)
        .build();
  }

  private Mono<ServerResponse> page(Query query) {
    return queries
        .submit(() -> dependencies.reader().read(query))
        .flatMap(
            page ->
                queries.json(
                    ServerResponse.ok(), Json.write(json -> QueryHandler.write(page, json))));
  }

  private static Mono<ServerResponse> templateNotFound() {
    return Problem.of(ProblemType.NOT_FOUND, "no template has this id");
  }

  private static UUID id(ServerRequest request) {
    return QueryParameters.templateId("id", request.pathVariable("id"));
  }

  private static View view(QueryParameters parameters) {
    var name = parameters.singleValue("view");
    return name == null
        ? View.TOP
        : Arrays.stream(View.values())
            .filter(view -> name(view).equals(name))
            .findFirst()
            .orElseThrow(
                () ->
                    HttpProblemException.malformed(
                        Arrays.stream(View.values())
                            .map(TemplatesHandler::name)
                            .collect(Collectors.joining(", ", "view is not one of ", ""))));
  }

  private static String name(View view) {
    return view.name().toLowerCase(Locale.ROOT);
  }

  private TemplateQuery templateQuery(ServerRequest request, QueryParameters parameters) {
    return new TemplateQuery(
        RequestContextFilter.contextOf(request).tenant(),
        parameters.singleValue("service"),
        new TreeSet<>(parameters.severities()),
        parameters.minSeverity(),
        minuteRange(parameters.time("from"), parameters.time("to")),
        Set.of());
  }

  /** Returns the time range of the query; by default it ends now and has an hour. */
  private MinuteRange minuteRange(@Nullable Long from, @Nullable Long to) {
    if (from == null && to == null) {
      long end = MinuteRange.minuteOf(now()) + 1;
      return new MinuteRange(end - DEFAULT_MINUTES, end);
    }
    long end = to == null ? now() + 1 : to;
    long begin = from == null ? Math.max(0, end - MinuteRange.startNanos(DEFAULT_MINUTES)) : from;
    if (begin >= end) {
      throw HttpProblemException.malformed("from is not before to; the default of to is now");
    }
    return MinuteRange.covering(begin, end);
  }

  private long now() {
    var now = dependencies.clock().instant();
    return now.getEpochSecond() * 1_000_000_000L + now.getNano();
  }

  private Mono<ServerResponse> jsonResponse(MinuteRange minuteRange, Listing listing) {
    return queries.json(
        ServerResponse.ok(),
        Json.write(
            json -> {
              json.writeStartObject();
              write(minuteRange, json);
              json.writeNumberProperty("total", listing.total());
              json.writeArrayPropertyStart("templates");
              for (var template : listing.templates()) {
                json.writeStartObject();
                write(template, json);
                json.writeEndObject();
              }
              json.writeEndArray();
              json.writeEndObject();
            }));
  }

  private Mono<ServerResponse> jsonResponse(
      MinuteRange minuteRange, TemplateDetail templateDetail) {
    return queries.json(
        ServerResponse.ok(),
        Json.write(
            json -> {
              json.writeStartObject();
              write(minuteRange, json);
              write(templateDetail.template(), json);
              json.writeArrayPropertyStart("merged");
              new TreeSet<>(templateDetail.mergedIds())
                  .forEach(id -> json.writeString(id.toString()));
              json.writeEndArray();
              json.writeEndObject();
            }));
  }

  private static void write(MinuteRange minuteRange, JsonGenerator json) {
    json.writeStringProperty("from", Timestamps.format(MinuteRange.startNanos(minuteRange.from())));
    json.writeStringProperty("to", Timestamps.format(MinuteRange.startNanos(minuteRange.to())));
  }

  /** Writes the fields of a template into the current JSON object. */
  static void write(Template template, JsonGenerator json) {
    json.writeStringProperty("template_id", template.id().toString());
    if (template.text() != null) {
      json.writeStringProperty("template", template.text());
    }
    json.writeNumberProperty("count", template.count());
    json.writeNumberProperty("count_before", template.countBefore());
    template.rateChange().ifPresent(change -> json.writeNumberProperty("rate_change", change));
    writeMinute("first_seen", template.firstMinute(), json);
    writeMinute("last_seen", template.lastMinute(), json);
    json.writeObjectPropertyStart("services");
    template.services().forEach(json::writeNumberProperty);
    json.writeEndObject();
    json.writeObjectPropertyStart("severities");
    template
        .severities()
        .forEach((severity, count) -> json.writeNumberProperty(severity.name(), count));
    json.writeEndObject();
  }

  private static void writeMinute(String name, @Nullable Long minute, JsonGenerator json) {
    if (minute != null) {
      json.writeStringProperty(name, Timestamps.format(MinuteRange.startNanos(minute)));
    }
  }
}
