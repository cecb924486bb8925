package dev.sluice.bench;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import tools.jackson.databind.json.JsonMapper;

/**
 * The load generator ghz: calls the OTLP service over gRPC in a closed loop, one call after the
 * other on each connection.
 *
 * @param port the gRPC port
 * @param bodies a file of {@link RequestBodies}
 * @param connections the number of connections
 */
record Ghz(int port, Path bodies, int connections) implements LoadGenerator {
  private static final Path PROTO = Path.of("gateway-bench/src/main/ghz/logs.proto");

  @Override
  public LoadResult send(int seconds) throws IOException, InterruptedException {
    var ghz =
        LoadGenerator.run(
            Map.of(),
            List.of(
                BUILD_DIRECTORY.resolve("ghz").toString(),
                "--insecure",
                "--proto=" + PROTO,
                "--call=opentelemetry.proto.collector.logs.v1.LogsService/Export",
                "--binary-file=" + bodies,
                "--concurrency=" + connections,
                "--connections=" + connections,
                "--duration=" + seconds + "s",
                "--duration-stop=wait",
                "--timeout=30s",
                "--format=json",
                "127.0.0.1:" + port));
    return parse(ghz.output()).withProcess(ghz);
  }

  static LoadResult parse(String output) throws IOException {
    var result = JsonMapper.shared().readTree(output);
    var details = result.path("details");
    if (details.isEmpty()) {
      throw new IOException("ghz made no call: " + output);
    }
    var nanos = new long[details.size()];
    long succeeded = 0;
    for (int i = 0; i < nanos.length; i++) {
      nanos[i] = details.get(i).path("latency").asLong();
      succeeded += details.get(i).path("status").asString().equals("OK") ? 1 : 0;
    }
    long failed = nanos.length - succeeded;
    return new LoadResult(
        succeeded, failed, failed, result.path("total").asLong() / 1e9, Latency.of(nanos), 0, 0);
  }
}
