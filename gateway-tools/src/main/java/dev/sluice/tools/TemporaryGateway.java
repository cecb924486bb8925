package dev.sluice.tools;

import java.io.IOException;
import java.io.UncheckedIOException;
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
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A gateway for this process alone: on free loopback ports, with engines of its own and a new
 * directory. {@link #close} stops the gateway and removes the directory; so does the end of this
 * process, unless it is killed.
 */
final class TemporaryGateway implements AutoCloseable {
  /** The time until the gateway is ready; the ClickHouse library may have to be fetched first. */
  private static final Duration START_TIMEOUT = Duration.ofMinutes(10);

  private static final Duration POLL_INTERVAL = Duration.ofMillis(100);

  /** The time until the gateway has stopped; longer than its own shutdown timeout. */
  private static final Duration STOP_TIMEOUT = Duration.ofSeconds(30);

  private static final int LOG_TAIL_LINES = 30;

  /** The environment variables that describe this machine and not another gateway. */
  private static final Set<String> INHERITED_VARIABLES =
      Set.of("SLUICE_LIBCHDB", "SLUICE_ENGINES_CACHEDIR");

  private final Path folder;
  private final int port = freePort();
  private final int managementPort = freePort();
  private @Nullable Process process;
  private boolean closed;

  private TemporaryGateway(Path folder) {
    this.folder = folder;
  }

  /**
   * Starts a gateway and returns when it is ready.
   *
   * @param command the command that starts a gateway; settings are appended to it
   * @throws IOException with the end of its log when it does not become ready; no process and no
   *     file is left then
   */
  static TemporaryGateway start(List<String> command) throws IOException, InterruptedException {
    var gateway = new TemporaryGateway(Files.createTempDirectory("sluice-eval-"));
    Runtime.getRuntime().addShutdownHook(new Thread(gateway::stop));
    try {
      gateway.awaitReady(gateway.launch(command));
      return gateway;
    } catch (IOException | InterruptedException | RuntimeException e) {
      gateway.stop();
      throw e;
    }
  }

  URI address() {
    return URI.create("http://127.0.0.1:" + port);
  }

  /** The data directory of the gateway. */
  Path folder() {
    return folder;
  }

  private synchronized Process launch(List<String> command) throws IOException {
    if (closed) {
      throw new IOException("closed before the gateway was started");
    }
    var arguments = new ArrayList<>(command);
    arguments.addAll(
        List.of(
            // ignores configuration files in the working directory
            "--spring.config.location=classpath:/",
            "--server.address=127.0.0.1",
            "--server.port=" + port,
            "--management.server.address=127.0.0.1",
            "--management.server.port=" + managementPort,
            "--spring.grpc.server.address=127.0.0.1",
            "--spring.grpc.server.port=0",
            "--sluice.ingest.otlp-http-port=-1",
            "--sluice.engines.data-dir=" + folder,
            "--sluice.engines.redis.port=0",
            "--sluice.engines.clickhouse.http-port=0",
            "--sluice.engines.clickhouse.tcp-port=0",
            "--sluice.wal.dir=" + folder,
            "--sluice.embeddings.cpu-share=1", // no other load needs the core
            "--sluice.shutdown-timeout=5s"));
    var builder =
        new ProcessBuilder(arguments).redirectErrorStream(true).redirectOutput(logFile().toFile());
    builder.environment().keySet().removeIf(TemporaryGateway::isGatewaySetting);
    process = builder.start();
    return process;
  }

  /**
   * Whether the variable would change a setting of the gateway; a temporary gateway must not use an
   * external ClickHouse from the environment.
   */
  private static boolean isGatewaySetting(String variable) {
    return !INHERITED_VARIABLES.contains(variable)
        && variable.matches("(SLUICE|SPRING|SERVER|MANAGEMENT|LOGGING)_.*");
  }

  private Path logFile() {
    return folder.resolve("gateway.log");
  }

  private void awaitReady(Process started) throws IOException, InterruptedException {
    var request =
        HttpRequest.newBuilder(
                URI.create("http://127.0.0.1:" + managementPort + "/actuator/health/readiness"))
            .timeout(Duration.ofSeconds(10))
            .build();
    long deadline = System.nanoTime() + START_TIMEOUT.toNanos();
    try (var http = HttpClient.newHttpClient()) {
      while (!isReady(http, request)) {
        if (started.waitFor(POLL_INTERVAL) || System.nanoTime() > deadline) {
          throw new IOException("the gateway did not become ready; end of its log:\n" + logTail());
        }
      }
    }
  }

  private static boolean isReady(HttpClient http, HttpRequest request) throws InterruptedException {
    try {
      return http.send(request, BodyHandlers.discarding()).statusCode() == 200;
    } catch (IOException _) {
      return false;
    }
  }

  private String logTail() throws IOException {
    try (var lines = Files.lines(logFile())) {
      var all = lines.toList();
      return String.join("\n", all.subList(Math.max(0, all.size() - LOG_TAIL_LINES), all.size()));
    }
  }

  /** Stops the gateway. Returns when it has exited and its directory is removed. */
  @Override
  public void close() {
    stop();
  }

  private synchronized void stop() {
    if (closed) {
      return;
    }
    closed = true;
    if (process != null) {
      stop(process);
    }
    try (var files = Files.walk(folder)) {
      for (var file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(file);
      }
    } catch (IOException | UncheckedIOException e) {
      System.err.println("cannot remove " + folder + ": " + e);
    }
  }

  /**
   * Stops the gateway, which stops its engines. Processes that remain after the timeout are killed.
   */
  private static void stop(Process process) {
    var engines = process.descendants().toList();
    process.destroy();
    try {
      if (!process.waitFor(STOP_TIMEOUT)) {
        process.destroyForcibly().waitFor();
      }
    } catch (InterruptedException _) {
      process.destroyForcibly();
      Thread.currentThread().interrupt();
    }
    for (var engine : engines) {
      engine.destroyForcibly();
      engine.onExit().join();
    }
  }

  private static int freePort() {
    try (var socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
