package dev.sluice.bench;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import tools.jackson.databind.json.JsonMapper;

/**
 * A gateway process as users start it, from its jar, on ports of its own. The environment can
 * contain more of its settings, by their usual names.
 */
final class Gateway implements LogServer {
  static final Path JAR = Path.of("gateway-api/target/sluice-app.jar");

  private static final Duration START_TIMEOUT = Duration.ofMinutes(2);

  private final HttpClient http = HttpClient.newHttpClient();
  private final int port = JavaProcess.freePort();
  private final int managementPort = JavaProcess.freePort();
  private final int grpcPort = JavaProcess.freePort();
  private final JavaProcess process;

  /**
   * Starts the gateway of this checkout and waits until it is ready.
   *
   * @param folder the directory of all its files
   * @param settings the settings besides ports and directories
   */
  Gateway(Path folder, String... settings) throws IOException, InterruptedException {
    this(JAR, folder, settings);
  }

  /**
   * Starts a gateway and waits until it is ready.
   *
   * @param jar the jar of any build
   * @param folder the directory of all its files
   * @param settings the settings besides ports and directories
   */
  Gateway(Path jar, Path folder, String... settings) throws IOException, InterruptedException {
    if (!Files.exists(jar)) {
      throw new IOException(
          jar + " does not exist, build it: mvn -pl gateway-api -am package -DskipTests");
    }
    Files.createDirectories(folder);
    var arguments =
        new ArrayList<>(
            List.of(
                "-jar",
                jar.toString(),
                "--server.port=" + port,
                "--management.server.port=" + managementPort,
                "--spring.grpc.server.port=" + grpcPort,
                "--sluice.ingest.otlp-http-port=-1",
                "--sluice.engines.data-dir=" + folder.resolve("engines"),
                "--sluice.wal.dir=" + folder.resolve("wal")));
    arguments.addAll(List.of(settings));
    process =
        new JavaProcess(
            folder.resolve("gateway.log"),
            () -> get("/actuator/health/readiness").statusCode() == 200,
            arguments);
  }

  @Override
  public int port() {
    return port;
  }

  int grpcPort() {
    return grpcPort;
  }

  @Override
  public long pid() {
    return process.handle().pid();
  }

  /** Returns the statistics of the gateway without the engines that it may have started. */
  ProcessStats processStats() {
    var engines = process.handle().children().map(ProcessHandle::pid).collect(Collectors.toSet());
    return new ProcessStats(pid(), engines);
  }

  /** Suspends the process until {@link #resume}. */
  void suspend() throws IOException, InterruptedException {
    process.signal("STOP");
  }

  void resume() throws IOException, InterruptedException {
    process.signal("CONT");
  }

  @Override
  public void kill() throws InterruptedException {
    process.kill();
  }

  @Override
  public void restart() throws IOException, InterruptedException {
    process.restart();
  }

  /** Returns the value of a metric; NaN when the gateway does not export it. */
  private double gauge(String name) throws IOException, InterruptedException {
    var found =
        Pattern.compile("(?m)^" + name + "(?:\\{[^}]*})? (\\S+)$")
            .matcher(get("/actuator/prometheus").body());
    return found.find() ? Double.parseDouble(found.group(1)) : Double.NaN;
  }

  /** Waits until all parts of the ledger are available. */
  @Override
  public Long imbalance() throws IOException, InterruptedException {
    long end = System.nanoTime() + START_TIMEOUT.toNanos();
    while (true) {
      var response = get("/actuator/ledger");
      if (response.statusCode() == 200) {
        return JsonMapper.shared().readTree(response.body()).path("imbalance").asLong();
      }
      if (System.nanoTime() > end) {
        throw new IOException("the ledger is not available: " + response.body());
      }
      Thread.sleep(1_000);
    }
  }

  /** {@inheritDoc} The value is that of the last garbage collection. */
  @Override
  public double allocatedBytes() throws IOException, InterruptedException {
    return gauge("jvm_gc_memory_allocated_bytes_total");
  }

  private java.net.http.HttpResponse<String> get(String path)
      throws IOException, InterruptedException {
    return http.send(
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + managementPort + path))
            .timeout(Duration.ofSeconds(20))
            .build(),
        BodyHandlers.ofString());
  }

  @Override
  public void close() {
    process.close();
    http.shutdownNow();
  }
}
