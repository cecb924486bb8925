package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.awaitility.Awaitility.await;

import dev.sluice.api.config.GatewayApplication;
import dev.sluice.api.config.OtlpPort;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.engines.EmbeddedClickHouse;
import dev.sluice.engines.EmbeddedRedis;
import dev.sluice.testkit.SharedEngines;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandler;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.grpc.server.lifecycle.GrpcServerLifecycle;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * The complete application in this process, on real engines, started at the first use and kept
 * until the JVM ends. Tests are isolated by their own service names.
 */
public final class Gateway {
  private static final JsonMapper JSON = new JsonMapper();
  private static final AtomicInteger NAMES = new AtomicInteger();
  private static final AtomicInteger FOLDERS = new AtomicInteger();
  private static final HttpClient CLIENT =
      HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();

  private final EmbeddedRedis redis;
  private final EmbeddedClickHouse clickHouse;
  private final ConfigurableApplicationContext application;

  private Gateway(
      String spool, EmbeddedRedis redis, EmbeddedClickHouse clickHouse, String... settings) {
    this.redis = redis;
    this.clickHouse = clickHouse;
    var spring = new SpringApplication(GatewayApplication.class);
    spring.setRegisterShutdownHook(false); // it would race with the hooks that stop the engines
    var all =
        Stream.of(
            "--server.port=0",
            "--management.server.port=0",
            "--spring.grpc.server.port=0",
            "--spring.jmx.enabled=false",
            "--sluice.ingest.otlp-http-port=0",
            "--sluice.delivery.linger=100ms",
            "--sluice.delivery.retry.max-delay=500ms",
            "--sluice.ledger.interval=250ms",
            "--sluice.spool=" + spool,
            "--sluice.wal.dir=" + folder("wal-" + FOLDERS.incrementAndGet()),
            "--sluice.wal.min-free-disk=16MB",
            "--sluice.redis.url=" + redis.url(),
            "--sluice.clickhouse.url=" + clickHouse.url(),
            "--sluice.clickhouse.password=" + clickHouse.password());
    application = spring.run(Stream.concat(all, Stream.of(settings)).toArray(String[]::new));
  }

  /** Returns the gateway on the shared engines, for tests that do not stop the engines. */
  static Gateway shared() {
    return SharedHolder.GATEWAY;
  }

  /**
   * Starts a gateway with the role ingest and its own settings; the shared gateway delivers its
   * logs. It is never closed, because that would close resources which all gateways of this process
   * share.
   */
  static Gateway ingestOnly(String instance, String... settings) {
    var _ = shared();
    var own = Stream.of("--sluice.roles=ingest", "--sluice.instance=" + instance);
    return new Gateway(
        "redis",
        SharedEngines.redis(),
        SharedEngines.clickHouse(),
        Stream.concat(own, Stream.of(settings)).toArray(String[]::new));
  }

  /**
   * Starts a gateway with the role ingest and a write-ahead log as fallback on its own engines, for
   * tests that stop its Redis.
   */
  static Gateway ingestOnlyWithFallback() {
    return new Gateway(
        "redis-then-wal",
        startRedis("fallback-redis"),
        startClickHouse("fallback-clickhouse"),
        "--sluice.roles=ingest",
        "--sluice.instance=fallback");
  }

  /**
   * Returns a gateway on its own engines, for tests that stop and restart engines. Its only spool
   * is Redis, so that requests are rejected while Redis is down.
   */
  static Gateway isolated() {
    return IsolatedHolder.GATEWAY;
  }

  /**
   * Returns a gateway with the write-ahead log as its only spool, its own ClickHouse for exact
   * counts, and custom masks.
   */
  static Gateway walOnly() {
    return WalOnlyHolder.GATEWAY;
  }

  /**
   * Starts a second gateway on the engines of another, with its own write-ahead log: for tests of
   * failing starts, and for gateways without logs to deliver.
   */
  static Gateway sharingEngines(Gateway other, String... settings) {
    return new Gateway("wal", other.redis, other.clickHouse, settings);
  }

  /** Returns the custom masks file of {@link #walOnly}, which is empty at first. */
  Path customMasksFile() {
    return Path.of(
        application.getEnvironment().getRequiredProperty("sluice.templates.custom-masks-file"));
  }

  Path walDirectory() {
    return Path.of(application.getEnvironment().getRequiredProperty("sluice.wal.dir"));
  }

  EmbeddedRedis redis() {
    return redis;
  }

  EmbeddedClickHouse clickHouse() {
    return clickHouse;
  }

  <T> T bean(String name, Class<T> type) {
    return application.getBean(name, type);
  }

  <T> T bean(Class<T> type) {
    return application.getBean(type);
  }

  /** Whether the application has a bean of this name, whose type may be package-private. */
  boolean hasBean(String name) {
    return application.containsBean(name);
  }

  /** Returns the bytes that requests in flight hold. */
  long inFlight() {
    return bean(MemoryBudget.class).used();
  }

  int httpPort() {
    return port("local.server.port");
  }

  int otlpPort() {
    return OtlpPort.of(application);
  }

  int grpcPort() {
    return bean(GrpcServerLifecycle.class).getPort();
  }

  URI http(String path) {
    return URI.create("http://127.0.0.1:" + httpPort() + path);
  }

  URI otlp(String path) {
    return URI.create("http://127.0.0.1:" + otlpPort() + path);
  }

  URI management(String path) {
    return URI.create("http://127.0.0.1:" + port("local.management.port") + path);
  }

  private static Path folder(String name) {
    return Path.of("target/engines/" + name + "-" + ProcessHandle.current().pid());
  }

  private int port(String property) {
    return Integer.parseInt(application.getEnvironment().getRequiredProperty(property));
  }

  /** Returns a unique service name. */
  static String service(String purpose) {
    return purpose + "-" + NAMES.incrementAndGet();
  }

  HttpResponse<String> post(URI uri, String contentType, byte[] body, String... headers) {
    return send(postRequest(uri, contentType, body, headers), BodyHandlers.ofString());
  }

  static HttpRequest postRequest(URI uri, String contentType, byte[] body, String... headers) {
    var request =
        HttpRequest.newBuilder(uri)
            .timeout(Duration.ofSeconds(30))
            .header("Content-Type", contentType)
            .POST(BodyPublishers.ofByteArray(body));
    if (headers.length > 0) {
      request.headers(headers);
    }
    return request.build();
  }

  /** Posts native logs, one object or an array. */
  HttpResponse<String> postLogs(String json) {
    return post(http("/api/v1/logs"), "application/json", json.getBytes(UTF_8));
  }

  /** Returns one sample of a meter, by its name and labels in the Prometheus format. */
  double meter(String sample) {
    return get(management("/actuator/prometheus"))
        .body()
        .lines()
        .filter(line -> line.startsWith(sample + " "))
        .mapToDouble(line -> Double.parseDouble(line.substring(sample.length() + 1)))
        .findFirst()
        .orElse(Double.NaN);
  }

  HttpResponse<String> delete(URI uri) {
    var request = HttpRequest.newBuilder(uri).timeout(Duration.ofSeconds(30)).DELETE().build();
    return send(request, BodyHandlers.ofString());
  }

  HttpResponse<String> get(URI uri) {
    var request = HttpRequest.newBuilder(uri).timeout(Duration.ofSeconds(30)).build();
    return send(request, BodyHandlers.ofString());
  }

  static <T> HttpResponse<T> send(HttpRequest request, BodyHandler<T> handler) {
    try {
      return CLIENT.send(request, handler);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }

  static JsonNode json(HttpResponse<String> response) {
    return json(response.body());
  }

  static JsonNode json(String text) {
    return JSON.readTree(text);
  }

  /** Returns the result of a ClickHouse query, one JSON object per row. */
  List<JsonNode> rows(String sql) {
    var request =
        HttpRequest.newBuilder(
                URI.create(
                    clickHouse.url()
                        + "/?default_format=JSONEachRow&output_format_json_quote_64bit_integers=0"))
            .header("X-ClickHouse-User", EmbeddedClickHouse.ADMINISTRATOR)
            .header("X-ClickHouse-Key", clickHouse.password())
            .timeout(Duration.ofSeconds(30))
            .POST(BodyPublishers.ofString(sql))
            .build();
    var response = send(request, BodyHandlers.ofString());
    if (response.statusCode() != 200) {
      throw new IllegalStateException(response.body());
    }
    return response.body().lines().map(JSON::readTree).toList();
  }

  /** Returns all columns of the rows of a service, sorted by body; times in nanoseconds. */
  List<JsonNode> storedRows(String service) {
    return rows(
        """
        SELECT * REPLACE (
            toUnixTimestamp64Nano(Timestamp) AS Timestamp,
            toUnixTimestamp64Nano(ObservedTimestamp) AS ObservedTimestamp,
            toUnixTimestamp64Nano(ReceivedTimestamp) AS ReceivedTimestamp,
            hex(Id) AS Id)
        FROM otel_logs WHERE ServiceName = '%s' ORDER BY Body"""
            .formatted(service));
  }

  /**
   * Waits for the rows of a service. Rows accepted earlier are stored then too, because the spool
   * keeps the order.
   */
  List<JsonNode> awaitStored(String service, int rows) {
    await()
        .atMost(Duration.ofSeconds(30))
        .pollInterval(Duration.ofMillis(25))
        .ignoreExceptions()
        .until(() -> count(service) >= rows);
    var stored = storedRows(service);
    if (stored.size() != rows) {
      throw new AssertionError(stored.size() + " rows of " + service + " instead of " + rows);
    }
    return stored;
  }

  long count(String service) {
    return rows("SELECT count() AS n FROM otel_logs WHERE ServiceName = '" + service + "'")
        .getFirst()
        .get("n")
        .asLong();
  }

  private static final class SharedHolder {
    static final Gateway GATEWAY =
        new Gateway("redis-then-wal", SharedEngines.redis(), SharedEngines.clickHouse());
  }

  private static final class IsolatedHolder {
    static final Gateway GATEWAY =
        new Gateway("redis", startRedis("alone-redis"), startClickHouse("alone-clickhouse"));
  }

  private static final class WalOnlyHolder {
    static final Gateway GATEWAY =
        new Gateway(
            "wal",
            SharedEngines.redis(),
            startClickHouse("wal-clickhouse"),
            "--sluice.templates.custom-masks-file=" + noMasks());

    private static Path noMasks() {
      try {
        return Files.writeString(Files.createDirectories(folder("masks")).resolve("list"), "");
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  private static EmbeddedRedis startRedis(String name) {
    var redis =
        EmbeddedRedis.start(
            new EmbeddedRedis.RedisEngineSettings(
                folder(name), SharedEngines.cacheDirectory(), 0, "256mb"));
    Runtime.getRuntime().addShutdownHook(new Thread(redis::close));
    return redis;
  }

  private static EmbeddedClickHouse startClickHouse(String name) {
    var clickHouse =
        EmbeddedClickHouse.start(
            new EmbeddedClickHouse.ClickHouseEngineSettings(
                folder(name), SharedEngines.cacheDirectory(), 0, -1, "sluice", "sluice", true));
    Runtime.getRuntime().addShutdownHook(new Thread(clickHouse::close));
    return clickHouse;
  }
}
