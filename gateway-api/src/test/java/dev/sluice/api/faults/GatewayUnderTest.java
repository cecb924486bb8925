package dev.sluice.api.faults;

import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** A gateway in its own process, which can be killed and restarted on the same ports. */
final class GatewayUnderTest implements AutoCloseable {
  /** The exit status of a process that was killed by signal 9. */
  static final int SIGKILL_EXIT_STATUS = 137;

  private static final Pattern PEAK_RSS = Pattern.compile("VmHWM:\\s+(\\d+) kB");
  private static final Duration STARTUP_TIMEOUT = Duration.ofSeconds(60);

  private final List<String> command = new ArrayList<>();
  private final int port = freePort();
  private final int managementPort = freePort();
  private final Path log;
  private final HttpClient http = HttpClient.newHttpClient();
  private volatile @Nullable Process process;
  private long peakKiB;

  /**
   * Creates a gateway that is not started.
   *
   * @param folder the directory of its log file
   * @param main the main class
   * @param options the options of the JVM
   * @param arguments further settings, without ports and addresses
   */
  GatewayUnderTest(Path folder, String main, List<String> options, List<String> arguments) {
    this.log = folder.resolve("gateway-" + port + ".log");
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(options);
    command.addAll(
        List.of(
            "--enable-native-access=ALL-UNNAMED",
            "--sun-misc-unsafe-memory-access=allow",
            "-XX:TieredStopAtLevel=1", // compiles fast, since the process is short-lived
            "-cp",
            System.getProperty("java.class.path"),
            main,
            "--server.address=127.0.0.1",
            "--server.port=" + port,
            "--management.server.port=" + managementPort,
            "--spring.grpc.server.port=0",
            "--sluice.ingest.otlp-http-port=-1",
            "--sluice.instance=faults-" + port));
    command.addAll(arguments);
    // the engines end with this process, but the gateway does not
    Runtime.getRuntime().addShutdownHook(new Thread(this::destroy));
  }

  private GatewayUnderTest(GatewayUnderTest other) {
    this.log = other.log.resolveSibling("twin-" + port + ".log");
    for (var argument : other.command) {
      command.add(
          argument
              .replace("port=" + other.port, "port=" + port)
              .replace("port=" + other.managementPort, "port=" + managementPort));
    }
    Runtime.getRuntime().addShutdownHook(new Thread(this::destroy));
  }

  /** Waits until the process exits by itself and returns its exit status. */
  int awaitExit(Duration timeout) throws InterruptedException {
    var running = process;
    if (running == null || !running.waitFor(timeout.toMillis(), TimeUnit.MILLISECONDS)) {
      throw new IllegalStateException("the gateway does not exit");
    }
    return running.exitValue();
  }

  private void destroy() {
    if (process != null) {
      process.destroyForcibly();
    }
  }

  void start() throws IOException {
    process =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
            .start();
  }

  /** Waits until the gateway reports that it is ready. */
  void awaitReady() {
    await("a ready gateway, see " + log)
        .atMost(STARTUP_TIMEOUT)
        .pollInterval(Duration.ofMillis(50))
        .ignoreExceptions()
        .until(() -> status("/actuator/health/readiness") == 200);
  }

  /** Waits until the gateway reports that it is live, ready or not. */
  void awaitLive() {
    await("a live gateway, see " + log)
        .atMost(STARTUP_TIMEOUT)
        .pollInterval(Duration.ofMillis(50))
        .ignoreExceptions()
        .until(() -> status("/actuator/health/liveness") == 200);
  }

  int status(String path) throws IOException, InterruptedException {
    return http.send(buildRequest(path), BodyHandlers.discarding()).statusCode();
  }

  /** Returns the response of the management port. */
  String get(String path) throws IOException, InterruptedException {
    return http.send(buildRequest(path), BodyHandlers.ofString()).body();
  }

  /** Returns the value of a gauge, or NaN when there is no such gauge. */
  double gauge(String name) {
    try {
      var found =
          Pattern.compile("^" + name + "(?:\\{[^}]*})? (\\S+)$", Pattern.MULTILINE)
              .matcher(get("/actuator/prometheus"));
      return found.find() ? Double.parseDouble(found.group(1)) : Double.NaN;
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  /** Returns a second gateway with the same instance name and its own ports, not started. */
  GatewayUnderTest duplicate() {
    return new GatewayUnderTest(this);
  }

  private HttpRequest buildRequest(String path) {
    return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + managementPort + path))
        .timeout(Duration.ofSeconds(10))
        .build();
  }

  URI uri() {
    return URI.create("http://127.0.0.1:" + port);
  }

  boolean isAlive() {
    return process != null && process.isAlive();
  }

  /** Returns the log output of all runs. */
  String log() throws IOException {
    return Files.exists(log) ? Files.readString(log, StandardCharsets.UTF_8) : "";
  }

  /** Kills the gateway with SIGKILL and returns its exit status. */
  int kill() throws InterruptedException {
    recordPeakMemory();
    return process == null ? -1 : process.destroyForcibly().waitFor();
  }

  /** Returns the peak memory of all runs in KiB. */
  long peakKiB() {
    recordPeakMemory();
    return peakKiB;
  }

  void recordPeakMemory() {
    if (isAlive()) {
      try {
        var status = Files.readString(Path.of("/proc/" + process.pid() + "/status"));
        var found = PEAK_RSS.matcher(status);
        if (found.find()) {
          peakKiB = Math.max(peakKiB, Long.parseLong(found.group(1)));
        }
      } catch (IOException _) {
        // the process has just ended, or the system has no /proc
      }
    }
  }

  @Override
  public void close() {
    http.shutdownNow();
    if (process == null) {
      return;
    }
    process.destroyForcibly();
    try {
      process.waitFor(20, TimeUnit.SECONDS);
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  static int freePort() {
    try (var socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }
}
