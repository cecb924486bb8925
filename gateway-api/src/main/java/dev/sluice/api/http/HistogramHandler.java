package dev.sluice.api.http;

import dev.sluice.api.decode.Json;
import dev.sluice.api.decode.Timestamps;
import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.LogReader;
import dev.sluice.query.port.LogReader.HistogramBucket;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Mono;
import tools.jackson.core.JsonGenerator;

/**
 * The handler of {@code GET /api/v1/logs/histogram}: the number of logs over time and by level. It
 * has the filter parameters of a query. Buckets start at multiples of their width since 1970, so
 * the buckets of repeated requests are the same.
 */
final class HistogramHandler {
  private static final int DEFAULT_BUCKETS = 60;
  private static final int MAX_BUCKETS = 1000;
  private static final Pattern INTERVAL = Pattern.compile("([1-9][0-9]{0,8})(ms|s|m|h|d)");

  /** Bucket widths that are readable on an axis, in nanoseconds. */
  private static final long[] WIDTHS =
      Map.of(
              TimeUnit.MILLISECONDS, List.of(1, 2, 5, 10, 20, 50, 100, 200, 500),
              TimeUnit.SECONDS, List.of(1, 2, 5, 10, 15, 30),
              TimeUnit.MINUTES, List.of(1, 2, 5, 10, 15, 30),
              TimeUnit.HOURS, List.of(1, 2, 3, 6, 12),
              TimeUnit.DAYS, List.of(1, 2, 7, 14, 30, 90, 365, 3650))
          .entrySet()
          .stream()
          .flatMap(unit -> unit.getValue().stream().map(unit.getKey()::toNanos))
          .mapToLong(Long::longValue)
          .sorted()
          .toArray();

  private final LogReader reader;
  private final BlockingQueries queries;

  HistogramHandler(LogReader reader, BlockingQueries queries) {
    this.reader = reader;
    this.queries = queries;
  }

  /**
   * A histogram.
   *
   * @param fromNanos the start of the first bucket in nanoseconds since 1970
   * @param toNanos the end of the last bucket, exclusive; 0 without logs
   * @param widthNanos the width of each bucket in nanoseconds
   * @param buckets the buckets that are not empty
   */
  private record Histogram(
      long fromNanos, long toNanos, long widthNanos, List<HistogramBucket> buckets) {}

  Mono<ServerResponse> get(ServerRequest request) {
    return Mono.defer(() -> respond(request)).onErrorResume(BlockingQueries::toProblemResponse);
  }

  private Mono<ServerResponse> respond(ServerRequest request) {
    var parameters = new QueryParameters(request.queryParams(), "interval", "buckets");
    var filter = parameters.filter(RequestContextFilter.contextOf(request));
    var interval = interval(parameters.singleValue("interval"));
    int buckets = parameters.number("buckets", DEFAULT_BUCKETS, MAX_BUCKETS);
    if (interval != null && parameters.singleValue("buckets") != null) {
      throw HttpProblemException.malformed("interval and buckets exclude each other");
    }
    return queries
        .submit(() -> count(filter, interval, buckets))
        .flatMap(
            histogram ->
                queries.json(ServerResponse.ok(), Json.write(json -> write(histogram, json))));
  }

  /** Parses a number and a unit; null without a text. */
  private static @Nullable Long interval(@Nullable String text) {
    if (text == null) {
      return null;
    }
    var parts = INTERVAL.matcher(text);
    if (!parts.matches()) {
      throw HttpProblemException.malformed("interval is not a number and one of ms, s, m, h, d");
    }
    var unit =
        switch (parts.group(2)) {
          case "ms" -> TimeUnit.MILLISECONDS;
          case "s" -> TimeUnit.SECONDS;
          case "m" -> TimeUnit.MINUTES;
          case "h" -> TimeUnit.HOURS;
          default -> TimeUnit.DAYS;
        };
    return unit.toNanos(Long.parseLong(parts.group(1)));
  }

  /** Counts the logs. The times of the logs replace a missing start or end of the query. */
  private Histogram count(LogFilter filter, @Nullable Long interval, int buckets)
      throws InterruptedException {
    var from = filter.fromNanos();
    var to = filter.toNanos();
    if (from == null || to == null) {
      var extent = reader.timeExtent(filter);
      if (extent.count() == 0) {
        return new Histogram(0, 0, interval == null ? WIDTHS[0] : interval, List.of());
      }
      from = from == null ? (Long) extent.firstNanos() : from;
      to = to == null ? (Long) (Math.min(extent.lastNanos(), Long.MAX_VALUE - 1) + 1) : to;
    }
    if (from >= to) {
      return new Histogram(0, 0, interval == null ? WIDTHS[0] : interval, List.of());
    }
    long width = interval == null ? width(from, to, buckets) : interval;
    long first = from / width;
    long last = (to - 1) / width;
    if (last - first >= MAX_BUCKETS) {
      throw HttpProblemException.malformed("interval makes more than " + MAX_BUCKETS + " buckets");
    }
    long begin = first * width;
    long end = last + 1 > Long.MAX_VALUE / width ? Long.MAX_VALUE : (last + 1) * width;
    return new Histogram(
        begin, end, width, reader.histogram(filter.between(from, to), begin, width));
  }

  /** Returns the smallest width with at most this number of buckets. */
  private static long width(long from, long to, int buckets) {
    for (long width : WIDTHS) {
      if ((to - 1) / width - from / width < buckets) {
        return width;
      }
    }
    return Long.MAX_VALUE;
  }

  private static void write(Histogram histogram, JsonGenerator json) {
    json.writeStartObject();
    json.writeNumberProperty(
        "total", histogram.buckets().stream().mapToLong(HistogramBucket::count).sum());
    json.writeNumberProperty("interval_ms", TimeUnit.NANOSECONDS.toMillis(histogram.widthNanos()));
    if (histogram.toNanos() > 0) {
      json.writeStringProperty("from", Timestamps.format(histogram.fromNanos()));
      json.writeStringProperty("to", Timestamps.format(histogram.toNanos()));
    }
    json.writeArrayPropertyStart("buckets");
    for (var bucket : histogram.buckets()) {
      json.writeStartObject();
      json.writeStringProperty("timestamp", Timestamps.format(bucket.startNanos()));
      json.writeNumberProperty("count", bucket.count());
      json.writeObjectPropertyStart("severities");
      new TreeMap<>(bucket.severities())
          .forEach((severity, count) -> json.writeNumberProperty(severity.name(), count));
      json.writeEndObject();
      json.writeEndObject();
    }
    json.writeEndArray();
    json.writeEndObject();
  }
}
