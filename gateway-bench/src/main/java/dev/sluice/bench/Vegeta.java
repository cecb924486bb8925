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
 * @param targets a file of vegeta's, of {@link Bodies}
 * @param perSecond requests
 * @param connections at most; 0 for as many as it takes
 */
record Vegeta(Path targets, double perSecond, int connections) implements Generator {
  private static final String PROGRAM = BUILT.resolve("vegeta").toString();

  Vegeta(Path targets, double perSecond) {
    this(targets, perSecond, 0);
  }

  @Override
  public Load send(int seconds) throws IOException, InterruptedException {
    var attack =
        Generator.run(
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
    return parse(said(), perMinute() / 60.0).by(attack);
  }

  /**
   * How long answers took, of the load that was sent last, by when their requests were due.
   *
   * @param seconds of a window, each under its number
   */
  Map<Long, Latency> latencies(int seconds) throws IOException, InterruptedException {
    return latencies(said(), perMinute() / 60.0, seconds);
  }

  static Map<Long, Latency> latencies(String said, double perSecond, int seconds)
      throws IOException {
    var windows =
        answers(said, perSecond).stream()
            .collect(Collectors.groupingBy(answer -> answer.due / (seconds * 1_000_000_000L)));
    var latencies = new HashMap<Long, Latency>();
    windows.forEach((number, answers) -> latencies.put(number, latency(answers)));
    return latencies;
  }

  private static Latency latency(List<Answer> answers) {
    return Latency.of(answers.stream().mapToLong(Answer::nanos).toArray());
  }

  private long perMinute() {
    return Math.round(perSecond * 60);
  }

  private Path results() {
    return targets.resolveSibling("vegeta.results");
  }

  private String said() throws IOException, InterruptedException {
    var encode = List.of(PROGRAM, "encode", "-to=json", results().toString());
    return Generator.run(Map.of(), encode).said();
  }

  static Load parse(String said, double perSecond) throws IOException {
    var answers = answers(said, perSecond);
    long taken = answers.stream().filter(Answer::taken).count();
    long others = answers.size() - taken;
    return new Load(
        taken,
        others,
        others,
        answers.stream().mapToLong(Answer::sent).max().orElse(0) / 1e9,
        latency(answers),
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
  private record Answer(long due, long sent, long nanos, boolean taken) {}

  /**
   * The requests were due at even intervals, of which the first that was sent in time tells when.
   */
  private static List<Answer> answers(String said, double perSecond) throws IOException {
    var late = new ArrayList<Answer>(); // behind the beat that begins with the epoch
    long first = Long.MAX_VALUE;
    for (var line : (Iterable<String>) said.lines()::iterator) {
      var result = JsonMapper.shared().readTree(line);
      long sent =
          ChronoUnit.NANOS.between(
              Instant.EPOCH, Instant.parse(result.path("timestamp").asString()));
      long due = Math.round(result.path("seq").asLong() * 1e9 / perSecond);
      first = Math.min(first, sent - due);
      late.add(
          new Answer(
              due, sent, result.path("latency").asLong(), result.path("code").asInt() == 200));
    }
    if (late.isEmpty()) {
      throw new IOException("vegeta has sent nothing");
    }
    long began = first;
    return late.stream()
        .map(
            each ->
                new Answer(
                    each.due,
                    each.sent - began,
                    each.nanos + each.sent - began - each.due,
                    each.taken))
        .toList();
  }
}
