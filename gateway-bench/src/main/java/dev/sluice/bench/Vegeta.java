package dev.sluice.bench;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import tools.jackson.databind.json.JsonMapper;

/**
 * Posts so many requests a second over HTTP, answered or not. An answer's time is counted from when
 * its request was due, not from when the generator came to send it: both share the machine's cores,
 * and who keeps the generator waiting keeps a client waiting.
 *
 * @param targets a file of vegeta's, of {@link Bodies}
 * @param perSecond requests
 */
record Vegeta(Path targets, double perSecond) implements Generator {
  private static final String PROGRAM = BUILT.resolve("vegeta").toString();

  @Override
  public Load send(int seconds) throws IOException, InterruptedException {
    long perMinute = Math.round(perSecond * 60);
    var results = targets.resolveSibling("vegeta.results");
    var attack =
        Generator.run(
            Map.of(),
            List.of(
                PROGRAM,
                "attack",
                "-targets=" + targets,
                "-rate=" + perMinute + "/1m",
                "-duration=" + seconds + "s",
                "-max-body=0",
                "-output=" + results));
    var said =
        Generator.run(Map.of(), List.of(PROGRAM, "encode", "-to=json", results.toString())).said();
    return parse(said, perMinute / 60.0).by(attack);
  }

  /**
   * The requests were due at even intervals, of which the first that was sent in time tells when.
   */
  static Load parse(String said, double perSecond) throws IOException {
    var lines = said.lines().toList();
    if (lines.isEmpty()) {
      throw new IOException("vegeta has sent nothing");
    }
    var late = new long[lines.size()]; // behind the beat that begins with the epoch
    var nanos = new long[lines.size()];
    long taken = 0;
    long first = Long.MAX_VALUE;
    long last = 0;
    for (int i = 0; i < nanos.length; i++) {
      var result = JsonMapper.shared().readTree(lines.get(i));
      long sent =
          ChronoUnit.NANOS.between(
              Instant.EPOCH, Instant.parse(result.path("timestamp").asString()));
      nanos[i] = result.path("latency").asLong();
      late[i] = sent - Math.round(result.path("seq").asLong() * 1e9 / perSecond);
      first = Math.min(first, late[i]);
      last = Math.max(last, sent);
      taken += result.path("code").asInt() == 200 ? 1 : 0;
    }
    for (int i = 0; i < nanos.length; i++) {
      nanos[i] += late[i] - first;
    }
    long others = nanos.length - taken;
    return new Load(taken, others, others, (last - first) / 1e9, Latency.of(nanos), 0, 0);
  }
}
