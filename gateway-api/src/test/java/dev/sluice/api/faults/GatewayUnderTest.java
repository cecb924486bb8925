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

/** One gateway as a process of its own, that can be killed and started again on the same ports. */
final class GatewayUnderTest implements AutoCloseable {
  /** What a shell says of a process that was ended by signal 9. */
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
   * @param main the class that is started
   * @param options of the JVM
   * @param arguments settings beyond ports and addresses
   */
  GatewayUnderTest(Path folder, String main, List<String> options, List<String> arguments) {
    this.log = folder.resolve("gateway-" + port + ".log");
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(options);
    command.addAll(
        List.of(
            "--enable-native-access=ALL-UNNAMED",
            "--sun-misc-unsafe-memory-access=allow",
            "-XX:TieredStopAtLevel=1", // what is young is killed soon
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
    // the engines end with this process, however it ends; a gateway does not
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

  /** Waits for it to end by itself; the exit status. */
  int awaitExit(Duration patience) throws InterruptedException {
    var running = process;
    if (running == null || !running.waitFor(patience.toMillis(), TimeUnit.MILLISECONDS)) {
      throw new IllegalStateException("it does not end");
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

  /** Returns when it says that it can do its part. */
  void awaitReady() {
    await("a gateway that is ready, see " + log)
        .atMost(STARTUP_TIMEOUT)
        .pollInterval(Duration.ofMillis(50))
        .ignoreExceptions()
        .until(() -> status("/actuator/health/readiness") == 200);
  }

  /** Returns when it answers at all, whatever it can do. */
  void awaitLive() {
    await("a gateway that lives, see " + log)
        .atMost(STARTUP_TIMEOUT)
        .pollInterval(Duration.ofMillis(50))
        .ignoreExceptions()
        .until(() -> status("/actuator/health/liveness") == 200);
  }

  int status(String path) throws IOException, InterruptedException {
    return http.send(buildRequest(path), BodyHandlers.discarding()).statusCode();
  }

  /** What the management port answers. */
  String get(String path) throws IOException, InterruptedException {
    return http.send(buildRequest(path), BodyHandlers.ofString()).body();
  }

  /** A figure of the gateway's metrics; not a number when it has none. */
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

  /** As this one again, on ports of its own but under the same name; not started. */
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

  /** All it has said, in all its lives. */
  String log() throws IOException {
    return Files.exists(log) ? Files.readString(log, StandardCharsets.UTF_8) : "";
  }

  /** kill -9; the exit status. */
  int kill() throws InterruptedException {
    recordPeakMemory();
    return process == null ? -1 : process.destroyForcibly().waitFor();
  }

  /** The most memory that any of its lives has had, in KiB. */
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
        // it has just ended, or there is no /proc
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
