package dev.sluice.bench;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import tools.jackson.databind.json.JsonMapper;

/**
 * The load generator vegeta: posts over HTTP at a fixed rate in an open loop. The latency of a
 * request counts from the moment when it was due, not from the moment when the generator sent it:
 * both share the cores of the machine, and a delay of the generator is also a delay of a client.
 *
 * @param targets a targets file of {@link RequestBodies}
 * @param perSecond the requests per second
 * @param connections the maximum number of connections; 0 for no limit
 */
record Vegeta(Path targets, double perSecond, int connections) implements LoadGenerator {
  private static final String PROGRAM = BUILD_DIRECTORY.resolve("vegeta").toString();

  Vegeta(Path targets, double perSecond) {
    this(targets, perSecond, 0);
  }

  @Override
  public LoadResult send(int seconds) throws IOException, InterruptedException {
    var attack =
        LoadGenerator.run(
            Map.of(),
            List.of(
                PROGRAM,
                "attack",
                "-targets=" + targets,
                "-rate=" + perMinute() + "/1m",
                "-duration=" + seconds + "s",
                "-max-connections=" + connections,
                "-max-body=0",
                "-output=" + results()));
    return parse(encodedResults(), perMinute() / 60.0).withProcess(attack);
  }

  /**
   * Returns the latencies of the last load by time window, where the due time of a request
   * determines its window.
   *
   * @param seconds the length of a window; the key of a window is its number, from 0
   */
  Map<Long, Latency> latencies(int seconds) throws IOException, InterruptedException {
    return latencies(encodedResults(), perMinute() / 60.0, seconds);
  }

  static Map<Long, Latency> latencies(String results, double perSecond, int seconds)
      throws IOException {
    var windows =
        responses(results, perSecond).stream()
            .collect(Collectors.groupingBy(response -> response.due / (seconds * 1_000_000_000L)));
    var latencies = new HashMap<Long, Latency>();
    windows.forEach((number, responses) -> latencies.put(number, latency(responses)));
    return latencies;
  }

  private static Latency latency(List<Response> responses) {
    return Latency.of(responses.stream().mapToLong(Response::nanos).toArray());
  }

  private long perMinute() {
    return Math.round(perSecond * 60);
  }

  private Path results() {
    return targets.resolveSibling("vegeta.results");
  }

  private String encodedResults() throws IOException, InterruptedException {
    var encode = List.of(PROGRAM, "encode", "-to=json", results().toString());
    return LoadGenerator.run(Map.of(), encode).output();
  }

  static LoadResult parse(String results, double perSecond) throws IOException {
    var responses = responses(results, perSecond);
    long succeeded = responses.stream().filter(Response::succeeded).count();
    long failed = responses.size() - succeeded;
    return new LoadResult(
        succeeded,
        failed,
        failed,
        responses.stream().mapToLong(Response::sent).max().orElse(0) / 1e9,
        latency(responses),
        0,
        0);
  }

  /**
   * A response, or its absence.
   *
   * @param due the due time of its request, in nanoseconds after that of the first request
   * @param sent the send time of its request, in nanoseconds after the due time of the first
   *     request
   * @param nanos the latency, from the due time
   * @param succeeded whether the status is 200
   */
  private record Response(long due, long sent, long nanos, boolean succeeded) {}

  /**
   * Reads the responses. The requests were due at even intervals; the request with the smallest
   * delay determines the start of the intervals.
   */
  private static List<Response> responses(String results, double perSecond) throws IOException {
    var unaligned = new ArrayList<Response>(); // send times count from the epoch
    long first = Long.MAX_VALUE;
    for (var line : (Iterable<String>) results.lines()::iterator) {
      var result = JsonMapper.shared().readTree(line);
      long sent =
          ChronoUnit.NANOS.between(
              Instant.EPOCH, Instant.parse(result.path("timestamp").asString()));
      long due = Math.round(result.path("seq").asLong() * 1e9 / perSecond);
      first = Math.min(first, sent - due);
      unaligned.add(
          new Response(
              due, sent, result.path("latency").asLong(), result.path("code").asInt() == 200));
    }
    if (unaligned.isEmpty()) {
      throw new IOException("vegeta sent no request");
    }
    long firstSentNanos = first;
    return unaligned.stream()
        .map(
            each ->
                new Response(
                    each.due,
                    each.sent - firstSentNanos,
                    each.nanos + each.sent - firstSentNanos - each.due,
                    each.succeeded))
        .toList();
  }
}
