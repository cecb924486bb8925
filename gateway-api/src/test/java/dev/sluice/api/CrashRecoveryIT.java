package dev.sluice.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.engines.EmbeddedClickHouse;
import dev.sluice.testkit.SharedEngines;
import java.io.IOException;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Checks the gateway with its managed engines in its own process, ended by SIGKILL and by SIGTERM.
 */
@Timeout(180)
class CrashRecoveryIT {
  private static final Pattern REMAINING =
      Pattern.compile("gateway stopped: (\\d+) entries with (\\d+) logs remain in the spool");

  private static final int REQUESTS = 40;
  private static final int LOGS = 25;
  private static final Duration START = Duration.ofSeconds(60);

  @TempDir Path folder;

  private final HttpClient http = HttpClient.newHttpClient();
  private final int port = freePort();
  private final int management = freePort();
  private final int clickHouse = freePort();
  private Process gateway;

  @AfterEach
  void stopGateway() throws InterruptedException {
    gateway.destroy();
    if (!gateway.waitFor(40, TimeUnit.SECONDS)) {
      gateway.destroyForcibly().waitFor();
    }
  }

  @Test
  void kill_rightAfterTheResponse_everyAcceptedLogIsStoredOnceAfterRestart() throws Exception {
    start("--sluice.delivery.linger=10m");
    for (int i = 0; i < REQUESTS; i++) {
      assertThat(post(i).statusCode()).isEqualTo(202);
    }
    var children = gateway.descendants().toList();

    gateway.destroyForcibly().waitFor();

    assertThat(children).isNotEmpty();
    await()
        .atMost(Duration.ofSeconds(30))
        .until(() -> children.stream().noneMatch(ProcessHandle::isAlive));
    start("--sluice.delivery.linger=100ms");
    await()
        .atMost(Duration.ofSeconds(30))
        .untilAsserted(
            () -> assertThat(count("count()")).isEqualTo(Integer.toString(REQUESTS * LOGS)));
    assertThat(count("uniqExact(Body)")).isEqualTo(Integer.toString(REQUESTS * LOGS));
    assertThat(ledger()).contains("\"imbalance\":0");
  }

  @Test
  void terminate_logsStillInTheSpool_areDeliveredBeforeExit() throws Exception {
    start("--sluice.delivery.linger=8s");
    for (int i = 0; i < REQUESTS; i++) {
      assertThat(post(i).statusCode()).isEqualTo(202);
    }
    var children = gateway.descendants().toList();

    gateway.destroy();

    assertThat(gateway.waitFor(40, TimeUnit.SECONDS)).isTrue();
    assertThat(lastLine()).endsWith("gateway stopped: the spool is empty");
    await()
        .atMost(Duration.ofSeconds(10))
        .until(() -> children.stream().noneMatch(ProcessHandle::isAlive));
    // no process delivers from Redis now: all stored rows were stored before the exit
    start("--sluice.roles=ingest");
    assertThat(count("count()")).isEqualTo(Integer.toString(REQUESTS * LOGS));
  }

  @Test
  void terminate_underLoadWhileStoreDown_logsShutdownSummaryAndStoresOnceAfterRestart()
      throws Exception {
    start("--sluice.clickhouse.url=http://127.0.0.1:" + freePort(), "--sluice.shutdown-timeout=3s");
    var acknowledged = ConcurrentHashMap.<Integer>newKeySet();
    var sent = new AtomicInteger();
    var clients = new ArrayList<Thread>();
    for (int i = 0; i < 4; i++) {
      clients.add(Thread.startVirtualThread(() -> postUntilExit(sent, acknowledged)));
    }
    await().atMost(START).until(() -> acknowledged.size() >= REQUESTS);

    gateway.destroy();

    assertThat(gateway.waitFor(40, TimeUnit.SECONDS)).isTrue();
    for (var client : clients) {
      client.join();
    }
    var left = REMAINING.matcher(lastLine());
    assertThat(left.find()).as(lastLine()).isTrue();
    int logs = Integer.parseInt(left.group(2));
    assertThat(Integer.parseInt(left.group(1))).isPositive();
    assertThat(logs).isGreaterThanOrEqualTo(acknowledged.size() * LOGS);
    start("--sluice.delivery.linger=100ms");
    await()
        .atMost(Duration.ofSeconds(30))
        .untilAsserted(() -> assertThat(count("count()")).isEqualTo(Integer.toString(logs)));
    assertThat(count("uniqExact(Body)")).isEqualTo(Integer.toString(logs));
    for (int request : acknowledged) {
      assertThat(count("countIf(endsWith(Body, ' of %d'))".formatted(request)))
          .isEqualTo(Integer.toString(LOGS));
    }
    assertThat(ledger()).contains("\"imbalance\":0");
  }

  @Test
  void start_allFiles_areAccessibleForTheOwnerOnly() throws Exception {
    var data = folder.resolve("data");
    start("--logging.file.name=" + data.resolve("gateway.log"));
    assertThat(post(1).statusCode()).isEqualTo(202);

    gateway.destroy();

    assertThat(gateway.waitFor(40, TimeUnit.SECONDS)).isTrue();
    try (var files = Files.walk(data)) {
      var paths = files.toList();
      assertThat(paths)
          .contains(data.resolve("gateway.log"), data.resolve("log.wal"), data.resolve("redis"))
          .allSatisfy(
              path ->
                  assertThat(PosixFilePermissions.toString(Files.getPosixFilePermissions(path)))
                      .endsWith("------"));
    }
  }

  /**
   * Posts until the gateway exits. A request without a response may be stored or not; it is not
   * retried.
   */
  private void postUntilExit(AtomicInteger sent, Set<Integer> acknowledged) {
    while (gateway.isAlive()) {
      int request = sent.getAndIncrement();
      try {
        if (post(request).statusCode() == 202) {
          acknowledged.add(request);
        }
      } catch (Exception _) {
        // the gateway has exited
      }
    }
  }

  private String lastLine() throws IOException {
    return Files.readAllLines(log()).getLast();
  }

  private void start(String... more) throws IOException {
    var command =
        new ArrayList<>(
            List.of(
                ProcessHandle.current().info().command().orElseThrow(),
                "-Xmx512m",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                System.getProperty("java.class.path"),
                "dev.sluice.api.config.GatewayApplication",
                "--server.address=127.0.0.1",
                "--server.port=" + port,
                "--management.server.port=" + management,
                "--spring.grpc.server.port=0",
                "--sluice.ingest.otlp-http-port=0",
                "--sluice.instance=kill-test",
                "--sluice.wal.dir=" + folder.resolve("data"),
                "--sluice.engines.data-dir=" + folder.resolve("data"),
                "--sluice.engines.cache-dir=" + SharedEngines.cacheDirectory(),
                "--sluice.engines.redis.port=0",
                "--sluice.engines.clickhouse.http-port=" + clickHouse,
                "--sluice.engines.clickhouse.tcp-port=0"));
    command.addAll(List.of(more));
    gateway =
        new ProcessBuilder(command)
            .redirectErrorStream(true)
            .redirectOutput(log().toFile())
            .start();
    await()
        .atMost(START)
        .until(
            () -> {
              assertThat(gateway.isAlive()).as(() -> read(log())).isTrue();
              try {
                return get(management, "/actuator/health/readiness").statusCode() == 200;
              } catch (IOException _) {
                return false;
              }
            });
  }

  private Path log() {
    return folder.resolve("gateway.log");
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      return e.toString();
    }
  }

  private HttpResponse<String> post(int request) throws Exception {
    var body = new StringBuilder();
    for (int i = 0; i < LOGS; i++) {
      body.append("{\"service\":\"kill\",\"body\":\"log %d of %d\"}\n".formatted(i, request));
    }
    return http.send(
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/api/v1/logs"))
            .header("Content-Type", "application/x-ndjson")
            .POST(BodyPublishers.ofString(body.toString()))
            .build(),
        BodyHandlers.ofString());
  }

  private String count(String expression) throws Exception {
    var query = "SELECT " + expression + " FROM otel_logs WHERE ServiceName = 'kill'";
    return http.send(
            HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + clickHouse + "/"))
                .header("X-ClickHouse-User", EmbeddedClickHouse.READER)
                .header("X-ClickHouse-Key", readerPassword())
                .POST(BodyPublishers.ofString(query))
                .build(),
            BodyHandlers.ofString())
        .body()
        .strip();
  }

  private String readerPassword() throws IOException {
    return Files.readString(folder.resolve("data/clickhouse/reader-password")).strip();
  }

  private String ledger() throws Exception {
    return get(management, "/actuator/ledger").body();
  }

  private HttpResponse<String> get(int at, String path) throws Exception {
    return http.send(
        HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + at + path)).build(),
        BodyHandlers.ofString());
  }

  private static int freePort() {
    try (var socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }
}
