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
 * Posts so many requests a second over HTTP, answered or not. An answer's time is counted from when
 * its request was due, not from when the generator came to send it: both share the machine's cores,
 * and who keeps the generator waiting keeps a client waiting.
 *
 * @param targets a file of vegeta's, of {@link RequestBodies}
 * @param perSecond requests
 * @param connections at most; 0 for as many as it takes
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
   * How long answers took, of the load that was sent last, by when their requests were due.
   *
   * @param seconds of a window, each under its number
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
    windows.forEach((number, answers) -> latencies.put(number, latency(answers)));
    return latencies;
  }

  private static Latency latency(List<Response> answers) {
    return Latency.of(answers.stream().mapToLong(Response::nanos).toArray());
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
   * One that came, or did not.
   *
   * @param due when its request was, in nanoseconds since the first was
   * @param sent when its request was, likewise
   * @param nanos it took, from when it was due
   */
  private record Response(long due, long sent, long nanos, boolean succeeded) {}

  /**
   * The requests were due at even intervals, of which the first that was sent in time tells when.
   */
  private static List<Response> responses(String results, double perSecond) throws IOException {
    var late = new ArrayList<Response>(); // behind the beat that begins with the epoch
    long first = Long.MAX_VALUE;
    for (var line : (Iterable<String>) results.lines()::iterator) {
      var result = JsonMapper.shared().readTree(line);
      long sent =
          ChronoUnit.NANOS.between(
              Instant.EPOCH, Instant.parse(result.path("timestamp").asString()));
      long due = Math.round(result.path("seq").asLong() * 1e9 / perSecond);
      first = Math.min(first, sent - due);
      late.add(
          new Response(
              due, sent, result.path("latency").asLong(), result.path("code").asInt() == 200));
    }
    if (late.isEmpty()) {
      throw new IOException("vegeta has sent nothing");
    }
    long firstSentNanos = first;
    return late.stream()
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
