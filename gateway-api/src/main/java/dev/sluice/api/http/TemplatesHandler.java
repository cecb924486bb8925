package dev.sluice.api.http;

import dev.sluice.api.decode.Json;
import dev.sluice.api.decode.Timestamps;
import dev.sluice.api.http.LogsRoutes.WayBack;
import dev.sluice.core.ingest.IngestService;
import dev.sluice.core.port.LogReader.Query;
import dev.sluice.core.port.TemplateStats.MinuteRange;
import dev.sluice.core.port.TemplateStats.TemplateQuery;
import dev.sluice.core.query.LogFilter;
import dev.sluice.core.read.TemplateReport.Listing;
import dev.sluice.core.read.TemplateReport.Template;
import dev.sluice.core.read.TemplateReport.TemplateDetail;
import dev.sluice.core.read.TemplateReport.View;
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

/** {@code GET /api/v1/templates}, and what is below it: what logs say, how often, since when. */
final class TemplatesHandler {
  private static final int DEFAULT_LIMIT = 50;
  private static final int MAX_LIMIT = 1000;
  private static final long DEFAULT_MINUTES = Duration.ofHours(1).toMinutes();

  private final WayBack wayBack;
  private final Reads reads;

  TemplatesHandler(WayBack wayBack, Reads reads) {
    this.wayBack = wayBack;
    this.reads = reads;
  }

  Mono<ServerResponse> list(ServerRequest request) {
    return Mono.defer(
            () -> {
              var parameters =
                  QueryParameters.only(
                      request.queryParams(),
                      "view",
                      "from",
                      "to",
                      "service",
                      "severity",
                      "min_severity",
                      "limit");
              var question = question(parameters);
              var view = view(parameters);
              int limit = parameters.number("limit", DEFAULT_LIMIT, MAX_LIMIT);
              return reads
                  .ask(() -> wayBack.templates().list(question, view, limit))
                  .flatMap(listing -> json(question.minuteRange(), listing));
            })
        .onErrorResume(Reads::problem);
  }

  Mono<ServerResponse> get(ServerRequest request) {
    return Mono.defer(
            () -> {
              var id = id(request);
              var question =
                  question(
                      QueryParameters.only(
                          request.queryParams(),
                          "from",
                          "to",
                          "service",
                          "severity",
                          "min_severity"));
              return reads
                  .ask(() -> wayBack.templates().find(question, id))
                  .flatMap(
                      found ->
                          found.isEmpty()
                              ? unknown()
                              : json(question.minuteRange(), found.orElseThrow()));
            })
        .onErrorResume(Reads::problem);
  }

  /** Samples of what a template stands for. */
  Mono<ServerResponse> logs(ServerRequest request) {
    return Mono.defer(
            () -> {
              var id = id(request);
              var parameters =
                  QueryParameters.only(request.queryParams(), "from", "to", "limit", "cursor");
              var from = parameters.time("from");
              var to = parameters.time("to");
              int limit =
                  parameters.number("limit", QueryHandler.DEFAULT_LIMIT, QueryHandler.MAX_LIMIT);
              var after = parameters.cursor();
              return reads
                  .ask(() -> wayBack.templates().activeRange(IngestService.DEFAULT_TENANT, id))
                  .flatMap(
                      came ->
                          came.isEmpty()
                              ? unknown()
                              : page(
                                  new Query(
                                      samples(id, from, to, came.orElseThrow()), limit, after)));
            })
        .onErrorResume(Reads::problem);
  }

  /** Of the time in which it came: to go through all other logs for a rare one takes too long. */
  private static LogFilter samples(
      UUID id, @Nullable Long from, @Nullable Long to, MinuteRange came) {
    return LogFilter.of(IngestService.DEFAULT_TENANT)
        .template(id)
        .from(from == null ? (Long) MinuteRange.startNanos(came.from()) : from)
        .to(to == null ? (Long) MinuteRange.startNanos(came.to()) : to)
        .build();
  }

  private Mono<ServerResponse> page(Query query) {
    return reads
        .ask(() -> wayBack.reader().read(query))
        .flatMap(
            page ->
                reads.json(
                    ServerResponse.ok(), Json.write(json -> QueryHandler.write(page, json))));
  }

  private static Mono<ServerResponse> unknown() {
    return Problem.of(ProblemType.NOT_FOUND, "no template has this id");
  }

  private static UUID id(ServerRequest request) {
    return QueryParameters.template("id", request.pathVariable("id"));
  }

  private static View view(QueryParameters parameters) {
    var name = parameters.first("view");
    return name == null
        ? View.TOP
        : Arrays.stream(View.values())
            .filter(view -> name(view).equals(name))
            .findFirst()
            .orElseThrow(
                () ->
                    RequestRefused.malformed(
                        Arrays.stream(View.values())
                            .map(TemplatesHandler::name)
                            .collect(Collectors.joining(", ", "view is not one of ", ""))));
  }

  private static String name(View view) {
    return view.name().toLowerCase(Locale.ROOT);
  }

  private TemplateQuery question(QueryParameters parameters) {
    return new TemplateQuery(
        IngestService.DEFAULT_TENANT,
        parameters.first("service"),
        new TreeSet<>(parameters.severities()),
        parameters.minSeverity(),
        minutes(parameters.time("from"), parameters.time("to")),
        Set.of());
  }

  /** Where the question leaves them open: until now, and for an hour. */
  private MinuteRange minutes(@Nullable Long from, @Nullable Long to) {
    if (from == null && to == null) {
      long end = MinuteRange.minuteOf(now()) + 1;
      return new MinuteRange(end - DEFAULT_MINUTES, end);
    }
    long end = to == null ? now() + 1 : to;
    long begin = from == null ? Math.max(0, end - MinuteRange.startNanos(DEFAULT_MINUTES)) : from;
    if (begin >= end) {
      throw RequestRefused.malformed("from is not before to, which is now when it is not given");
    }
    return MinuteRange.covering(begin, end);
  }

  private long now() {
    var now = wayBack.clock().instant();
    return now.getEpochSecond() * 1_000_000_000L + now.getNano();
  }

  private Mono<ServerResponse> json(MinuteRange minuteRange, Listing listing) {
    return reads.json(
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

  private Mono<ServerResponse> json(MinuteRange minuteRange, TemplateDetail templateDetail) {
    return reads.json(
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

  /** Its fields, into an object that is begun. */
  static void write(Template template, JsonGenerator json) {
    json.writeStringProperty("template_id", template.id().toString());
    if (template.text() != null) {
      json.writeStringProperty("template", template.text());
    }
    json.writeNumberProperty("count", template.count());
    json.writeNumberProperty("count_before", template.countBefore());
    template.rateChange().ifPresent(change -> json.writeNumberProperty("rate_change", change));
    minute("first_seen", template.firstMinute(), json);
    minute("last_seen", template.lastMinute(), json);
    json.writeObjectPropertyStart("services");
    template.services().forEach(json::writeNumberProperty);
    json.writeEndObject();
    json.writeObjectPropertyStart("severities");
    template
        .severities()
        .forEach((severity, count) -> json.writeNumberProperty(severity.name(), count));
    json.writeEndObject();
  }

  private static void minute(String name, @Nullable Long minute, JsonGenerator json) {
    if (minute != null) {
      json.writeStringProperty(name, Timestamps.format(MinuteRange.startNanos(minute)));
    }
  }
}
