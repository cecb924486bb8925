package dev.sluice.bench;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
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
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * The gateway as users start it, from its jar and with the JVM's options that {@code make run}
 * gives it ({@code JAVA_OPTS} in the environment), on ports of its own. Its settings may be given
 * in the environment too, by their usual names.
 */
final class Gateway implements AutoCloseable {
  static final Path JAR = Path.of("gateway-api/target/sluice-app.jar");

  private static final Duration START = Duration.ofMinutes(2);
  private static final Duration DRAIN = Duration.ofMinutes(10);

  /** So long nothing is delivered only when nothing can be. */
  private static final Duration STILL = Duration.ofSeconds(10);

  private final HttpClient http = HttpClient.newHttpClient();
  private final int port = freePort();
  private final int management = freePort();
  private final int grpc = freePort();
  private final Process process;

  /**
   * @param folder for all it writes
   * @param settings beyond ports and folders
   */
  Gateway(Path folder, String... settings) throws IOException, InterruptedException {
    if (!Files.exists(JAR)) {
      throw new IOException(JAR + " is not there: mvn -pl gateway-api -am package -DskipTests");
    }
    Files.createDirectories(folder);
    var command = new ArrayList<String>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(options());
    command.addAll(
        List.of(
            "--enable-native-access=ALL-UNNAMED",
            "--sun-misc-unsafe-memory-access=allow",
            "-jar",
            JAR.toString(),
            "--server.port=" + port,
            "--management.server.port=" + management,
            "--spring.grpc.server.port=" + grpc,
            "--sluice.ingest.otlp-http-port=-1",
            "--sluice.embedded.directory=" + folder.resolve("engines"),
            "--sluice.wal.dir=" + folder.resolve("wal")));
    command.addAll(List.of(settings));
    process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("gateway.log").toFile())
            .start();
    Runtime.getRuntime().addShutdownHook(new Thread(process::destroy));
    awaitReady(folder);
  }

  /** The Makefile is the one place that has them. */
  static List<String> options() throws IOException {
    var options = System.getenv("JAVA_OPTS");
    if (options == null) {
      throw new IOException("JAVA_OPTS is not set: run this by make");
    }
    return options.isBlank() ? List.of() : List.of(options.strip().split("\\s+"));
  }

  private void awaitReady(Path folder) throws IOException, InterruptedException {
    long end = System.nanoTime() + START.toNanos();
    while (process.isAlive() && System.nanoTime() < end) {
      try {
        if (answer("/actuator/health/readiness").statusCode() == 200) {
          return;
        }
      } catch (IOException _) {
        // not yet
      }
      Thread.sleep(100);
    }
    close();
    throw new IOException("the gateway is not ready, see " + folder.resolve("gateway.log"));
  }

  int port() {
    return port;
  }

  int grpcPort() {
    return grpc;
  }

  long pid() {
    return process.pid();
  }

  /** Without Redis and ClickHouse, which it may have started. */
  Watched watched() {
    var engines = process.children().map(ProcessHandle::pid).collect(Collectors.toSet());
    return new Watched(process.pid(), engines);
  }

  /** With Redis and ClickHouse, when it has started them. */
  Watched watchedWithEngines() {
    return new Watched(process.pid(), Set.of());
  }

  /** Lets it do nothing until {@link #resume}. */
  void halt() throws IOException, InterruptedException {
    signal("STOP");
  }

  void resume() throws IOException, InterruptedException {
    signal("CONT");
  }

  private void signal(String name) throws IOException, InterruptedException {
    var kill = List.of("kill", "-" + name, Long.toString(process.pid()));
    if (new ProcessBuilder(kill).inheritIO().start().waitFor() != 0) {
      throw new IOException(String.join(" ", kill) + " failed");
    }
  }

  /** A figure of its metrics; not a number when it has none. */
  double gauge(String name) throws IOException, InterruptedException {
    var found =
        Pattern.compile("(?m)^" + name + "(?:\\{[^}]*})? (\\S+)$")
            .matcher(answer("/actuator/prometheus").body());
    return found.find() ? Double.parseDouble(found.group(1)) : Double.NaN;
  }

  /**
   * The end of a drain.
   *
   * @param nanos {@link System#nanoTime} when it came
   * @param left log records that wait all the same
   */
  record Drained(long nanos, long left) {}

  /**
   * Returns when no log waits in its write-ahead log, or their number falls no more: what Redis may
   * have too waits for Redis.
   */
  Drained awaitLogDrained() throws IOException, InterruptedException {
    double least = Double.POSITIVE_INFINITY;
    long fell = System.nanoTime();
    while (least > 0 && System.nanoTime() - fell < STILL.toNanos()) {
      double waiting = gauge("sluice_wal_waiting");
      if (waiting < least) {
        least = waiting;
        fell = System.nanoTime();
      }
      Thread.sleep(100);
    }
    if (Double.isInfinite(least)) {
      throw new IOException("it does not say what waits in its write-ahead log");
    }
    return new Drained(fell, (long) least);
  }

  /** Returns when nothing waits to be delivered, neither in Redis nor in the write-ahead log. */
  Drained awaitDrained() throws IOException, InterruptedException {
    long end = System.nanoTime() + DRAIN.toNanos();
    while (gauge("sluice_spool_entries") != 0 || gauge("sluice_wal_waiting") != 0) {
      if (System.nanoTime() > end) {
        throw new IOException("it does not drain");
      }
      Thread.sleep(100);
    }
    return new Drained(System.nanoTime(), 0);
  }

  /** Where all logs are that were accepted, once everybody can be asked. */
  JsonNode ledger() throws IOException, InterruptedException {
    long end = System.nanoTime() + START.toNanos();
    while (true) {
      var answer = answer("/actuator/ledger");
      if (answer.statusCode() == 200) {
        return JsonMapper.shared().readTree(answer.body());
      }
      if (System.nanoTime() > end) {
        throw new IOException("no ledger: " + answer.body());
      }
      Thread.sleep(1_000);
    }
  }

  private java.net.http.HttpResponse<String> answer(String path)
      throws IOException, InterruptedException {
    return http.send(
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + management + path))
            .timeout(Duration.ofSeconds(20))
            .build(),
        BodyHandlers.ofString());
  }

  private static int freePort() {
    try (var socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  @Override
  public void close() {
    process.destroy();
    try {
      if (!process.waitFor(2, TimeUnit.MINUTES)) { // one that is halted does not hear it
        process.destroyForcibly().waitFor();
      }
    } catch (InterruptedException _) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
    http.shutdownNow();
  }
}
