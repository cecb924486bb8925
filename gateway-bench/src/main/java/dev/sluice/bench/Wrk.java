package dev.sluice.bench;

import dev.sluice.bench.RequestBodies.BodyFormat;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import tools.jackson.databind.json.JsonMapper;

/**
 * The load generator wrk: posts over HTTP in a closed loop, one request after the other on each
 * connection. Its latencies are those of clients that wait for each response; {@link Vegeta}
 * measures the latency at a given rate.
 *
 * @param url the URL of the requests
 * @param bodies a file of {@link RequestBodies}
 * @param type the content type of the bodies
 * @param encoding the content encoding of the bodies, empty for none
 * @param connections the number of connections
 */
record Wrk(String url, Path bodies, String type, String encoding, int connections)
    implements LoadGenerator {
  private static final Path SCRIPT = Path.of("gateway-bench/src/main/wrk/post.lua");
  private static final Pattern RESULT = Pattern.compile("(?m)^RESULT (.*)$");

  /** Writes synthetic logs to a directory and returns a generator that posts them. */
  static Wrk of(
      String url, Path folder, BodyFormat form, int bodies, int logs, int lines, int connections)
      throws IOException {
    var file = RequestBodies.writeBodies(folder, form, bodies, logs, lines);
    return new Wrk(url, file, form.contentType, form.contentEncoding, connections);
  }

  @Override
  public LoadResult send(int seconds) throws IOException, InterruptedException {
    // one thread suffices for a small machine and keeps only one copy of the bodies in memory
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

  /**
   * Parses the result. wrk does not wait for the last responses, so one request of each connection
   * may be in flight.
   */
  static LoadResult parse(String output, int connections) throws IOException {
    var found = RESULT.matcher(output);
    if (!found.find()) {
      throw new IOException("the output of wrk has no result: " + output);
    }
    var result = JsonMapper.shared().readTree(found.group(1));
    long rejected = result.path("refused").asLong();
    long broken = result.path("broken").asLong();
    return new LoadResult(
        result.path("answers").asLong() - rejected,
        rejected + broken,
        connections + rejected + broken,
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
