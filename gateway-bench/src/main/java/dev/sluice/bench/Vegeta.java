package dev.sluice.bench;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import tools.jackson.databind.json.JsonMapper;

/**
 * The load generator vegeta: posts over HTTP at a fixed rate in an open loop. The latency of a
 * request counts from the moment when it was due, not from the moment when the generator sent it:
 * both share the cores of the machine, and a delay of the generator is also a delay of a client.
 *
 * @param targets a targets file of {@link RequestBodies}
 * @param perSecond the requests per second
 */
record Vegeta(Path targets, double perSecond) implements LoadGenerator {
  private static final String PROGRAM = BUILD_DIRECTORY.resolve("vegeta").toString();

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
                "-max-body=0",
                "-output=" + results()));
    return parse(encodedResults(), perMinute() / 60.0).withProcess(attack);
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
