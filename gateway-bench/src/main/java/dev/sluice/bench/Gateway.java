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
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * The gateway as users start it, from its jar, on ports of its own. Its settings may be given in
 * the environment too, by their usual names.
 */
final class Gateway implements LogServer {
  static final Path JAR = Path.of("gateway-api/target/sluice-app.jar");

  private static final Duration START_TIMEOUT = Duration.ofMinutes(2);
  private static final Duration DRAIN_TIMEOUT = Duration.ofMinutes(10);

  /** So long nothing is delivered only when nothing can be. */
  private static final Duration STALL_TIMEOUT = Duration.ofSeconds(10);

  private final HttpClient http = HttpClient.newHttpClient();
  private final int port = JavaProcess.freePort();
  private final int managementPort = JavaProcess.freePort();
  private final int grpcPort = JavaProcess.freePort();
  private final JavaProcess process;

  /**
   * The one of this checkout.
   *
   * @param folder for all it writes
   * @param settings beyond ports and folders
   */
  Gateway(Path folder, String... settings) throws IOException, InterruptedException {
    this(JAR, folder, settings);
  }

  /**
   * @param jar of any release
   * @param folder for all it writes
   * @param settings beyond ports and folders
   */
  Gateway(Path jar, Path folder, String... settings) throws IOException, InterruptedException {
    if (!Files.exists(jar)) {
      throw new IOException(jar + " is not there: mvn -pl gateway-api -am package -DskipTests");
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

  /** Without Redis and ClickHouse, which it may have started. */
  ProcessStats processStats() {
    var engines = process.handle().children().map(ProcessHandle::pid).collect(Collectors.toSet());
    return new ProcessStats(pid(), engines);
  }

  /** With Redis and ClickHouse, when it has started them. */
  ProcessStats processStatsWithEngines() {
    return new ProcessStats(pid(), Set.of());
  }

  /** Lets it do nothing until {@link #resume}. */
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

  /** A figure of its metrics; not a number when it has none. */
  double gauge(String name) throws IOException, InterruptedException {
    var found =
        Pattern.compile("(?m)^" + name + "(?:\\{[^}]*})? (\\S+)$")
            .matcher(get("/actuator/prometheus").body());
    return found.find() ? Double.parseDouble(found.group(1)) : Double.NaN;
  }

  /**
   * The end of a drain.
   *
   * @param nanos {@link System#nanoTime} when it came
   * @param remaining log records that wait all the same
   */
  record DrainResult(long nanos, long remaining) {}

  /**
   * Returns when no log waits in its write-ahead log, or their number falls no more: what Redis may
   * have too waits for Redis.
   */
  DrainResult awaitWalDrained() throws IOException, InterruptedException {
    double lowest = Double.POSITIVE_INFINITY;
    long lastDropNanos = System.nanoTime();
    while (lowest > 0 && System.nanoTime() - lastDropNanos < STALL_TIMEOUT.toNanos()) {
      double waiting = gauge("sluice_wal_backlog_records");
      if (waiting < lowest) {
        lowest = waiting;
        lastDropNanos = System.nanoTime();
      }
      Thread.sleep(100);
    }
    if (Double.isInfinite(lowest)) {
      throw new IOException("it does not say what waits in its write-ahead log");
    }
    return new DrainResult(lastDropNanos, (long) lowest);
  }

  /** Returns when nothing waits to be delivered, neither in Redis nor in the write-ahead log. */
  DrainResult awaitDrained() throws IOException, InterruptedException {
    long end = System.nanoTime() + DRAIN_TIMEOUT.toNanos();
    while (gauge("sluice_spool_entries") != 0 || gauge("sluice_wal_backlog_records") != 0) {
      if (System.nanoTime() > end) {
        throw new IOException("it does not drain");
      }
      Thread.sleep(100);
    }
    return new DrainResult(System.nanoTime(), 0);
  }

  /** Where all logs are that were accepted, once everybody can be asked. */
  JsonNode ledger() throws IOException, InterruptedException {
    long end = System.nanoTime() + START_TIMEOUT.toNanos();
    while (true) {
      var answer = get("/actuator/ledger");
      if (answer.statusCode() == 200) {
        return JsonMapper.shared().readTree(answer.body());
      }
      if (System.nanoTime() > end) {
        throw new IOException("no ledger: " + answer.body());
      }
      Thread.sleep(1_000);
    }
  }

  @Override
  public Long imbalance() throws IOException, InterruptedException {
    return ledger().path("imbalance").asLong();
  }

  /** {@inheritDoc} As of the last collection. */
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
