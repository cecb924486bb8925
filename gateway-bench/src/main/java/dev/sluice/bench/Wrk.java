package dev.sluice.bench;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import tools.jackson.databind.json.JsonMapper;

/**
 * Posts over HTTP as fast as it is answered, each connection one request after the other. How long
 * answers took is told of a load that waits for them: of the load that is given, {@link Vegeta}
 * tells it.
 *
 * @param bodies a file of {@link RequestBodies}
 * @param encoding of the bodies, empty for none
 */
record Wrk(String url, Path bodies, String type, String encoding, int connections)
    implements LoadGenerator {
  private static final Path SCRIPT = Path.of("gateway-bench/src/main/wrk/post.lua");
  private static final Pattern RESULT = Pattern.compile("(?m)^RESULT (.*)$");

  @Override
  public LoadResult send(int seconds) throws IOException, InterruptedException {
    // one thread has the connections of a machine this small, and the bodies but once in memory
    var wrk =
        LoadGenerator.run(
            Map.of("BODIES", bodies.toString(), "CONTENT_TYPE", type, "CONTENT_ENCODING", encoding),
            List.of(
                "wrk",
                "-t1",
                "-c" + connections,
                "-d" + seconds + "s",
                "--timeout",
                "30s",
                "-s",
                SCRIPT.toString(),
                url));
    return parse(wrk.output(), connections).withProcess(wrk);
  }

  /** wrk does not wait for the last answers: a request of each connection may be under way. */
  static LoadResult parse(String output, int connections) throws IOException {
    var found = RESULT.matcher(output);
    if (!found.find()) {
      throw new IOException("wrk has no result: " + output);
    }
    var result = JsonMapper.shared().readTree(found.group(1));
    long refused = result.path("refused").asLong();
    long broken = result.path("broken").asLong();
    return new LoadResult(
        result.path("answers").asLong() - refused,
        refused + broken,
        connections + refused + broken,
        result.path("micros").asLong() / 1e6,
        new Latency(
            result.path("p50").asLong() / 1e3,
            result.path("p95").asLong() / 1e3,
            result.path("p99").asLong() / 1e3,
            result.path("p999").asLong() / 1e3),
        0,
        0);
  }
}
