package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Version;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.Arrays;
import java.util.List;
import java.util.Map.Entry;
import java.util.zip.GZIPInputStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;
import reactor.netty.ByteBufMono;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.client.HttpClientResponse;

/** Tests every HTTP version on every port in plain text; {@link TlsIT} tests them with TLS. */
class TransportIT {
  private static final String JSON = "application/json";

  private final Gateway gateway = Gateway.shared();

  private List<URI> endpoints() {
    return List.of(gateway.http("/v1/logs"), gateway.otlp("/v1/logs"));
  }

  private static HttpClientResponse post(HttpProtocol protocol, URI uri, String type, byte[] body) {
    return reactor.netty.http.client.HttpClient.newConnection()
        .protocol(protocol)
        .headers(headers -> headers.set("Content-Type", type))
        .post()
        .uri(uri)
        .send(ByteBufMono.fromString(Mono.just(new String(body, UTF_8))))
        .response()
        .block();
  }

  @ParameterizedTest
  @EnumSource(names = {"HTTP11", "H2C"})
  void post_eitherVersionWithoutUpgrade_isStored(HttpProtocol protocol) {
    var service = Gateway.service("transport");
    for (var uri : endpoints()) {
      var body = Otlp.everythingInJson(service).getBytes(UTF_8);

      var response = post(protocol, uri, JSON, body);

      assertThat(response.status().code()).isEqualTo(200);
      assertThat(response.version().majorVersion()).isEqualTo(protocol == HttpProtocol.H2C ? 2 : 1);
    }
    gateway.awaitStored(service, 2);
  }

  /** The HTTP client of the JDK requests an upgrade to HTTP/2 with its first request. */
  @Test
  void get_upgradeRequest_switchesToHttp2() throws Exception {
    try (var client = HttpClient.newHttpClient()) {
      var request = HttpRequest.newBuilder(gateway.http("/api/v1/logs?limit=1")).build();

      var first = client.send(request, BodyHandlers.ofString());
      var second =
          client.send(
              Gateway.postRequest(gateway.http("/api/v1/logs"), JSON, "[]".getBytes(UTF_8)),
              BodyHandlers.ofString());

      assertThat(first.statusCode()).isEqualTo(200);
      assertThat(first.version()).isEqualTo(Version.HTTP_2);
      assertThat(second.statusCode()).isEqualTo(400);
      assertThat(second.version()).isEqualTo(Version.HTTP_2);
    }
  }

  /** The body of an upgrade request would be buffered outside of all limits. */
  @ParameterizedTest
  @ValueSource(ints = {1, 100_000, 5_000_000})
  void post_upgradeRequestWithBody_isAcceptedOverHttp11(int size) throws Exception {
    var service = Gateway.service("upgrade");
    var log = "{\"service\":\"%s\",\"body\":\"b\"}".formatted(service);
    var body = (log + " ".repeat(size)).getBytes(UTF_8);
    try (var client = HttpClient.newHttpClient()) {
      var request = Gateway.postRequest(gateway.http("/api/v1/logs"), JSON, body);
      var chunked =
          HttpRequest.newBuilder(gateway.http("/api/v1/logs"))
              .header("Content-Type", JSON)
              .POST(HttpRequest.BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(body)))
              .build();

      for (var each : List.of(request, chunked)) {
        var response = client.send(each, BodyHandlers.ofString());

        assertThat(response.statusCode()).isEqualTo(202);
        assertThat(response.version()).isEqualTo(Version.HTTP_1_1);
      }
    }
    gateway.awaitStored(service, 2);
  }

  @Test
  @EnabledOnOs(
      value = OS.LINUX,
      architectures = {"amd64", "x86_64", "aarch64"})
  void sockets_onLinux_areEpoll() {
    var _ = gateway.get(gateway.http("/api/v1/logs?limit=1"));

    for (var name : List.of("reactor-http-", "grpc-")) {
      assertThat(Thread.getAllStackTraces().entrySet())
          .filteredOn(thread -> thread.getKey().getName().startsWith(name))
          .isNotEmpty()
          .anySatisfy(thread -> assertThat(classes(thread)).anyMatch(TransportIT::isEpoll));
    }
  }

  private static List<String> classes(Entry<Thread, StackTraceElement[]> thread) {
    return Arrays.stream(thread.getValue()).map(StackTraceElement::getClassName).toList();
  }

  private static boolean isEpoll(String type) {
    return type.startsWith("io.netty.channel.epoll.");
  }

  private HttpResponse<byte[]> getCompressed(Version version, String path) throws Exception {
    try (var client = HttpClient.newBuilder().version(version).build()) {
      return client.send(
          HttpRequest.newBuilder(gateway.http(path)).header("Accept-Encoding", "gzip").build(),
          BodyHandlers.ofByteArray());
    }
  }

  private static String decompressed(HttpResponse<byte[]> response) throws IOException {
    assertThat(response.headers().firstValue("Content-Encoding")).hasValue("gzip");
    try (var in = new GZIPInputStream(new ByteArrayInputStream(response.body()))) {
      return new String(in.readAllBytes(), UTF_8);
    }
  }

  @ParameterizedTest
  @EnumSource
  void get_longResponseAndAcceptEncoding_isCompressed(Version version) throws Exception {
    var service = Gateway.service("long");
    gateway.postLogs("{\"service\":\"%s\",\"body\":\"%s\"}".formatted(service, "x".repeat(10_000)));
    gateway.awaitStored(service, 1);
    var path = "/api/v1/logs?service=" + service;

    var packed = getCompressed(version, path);

    assertThat(packed.version()).isEqualTo(version);
    assertThat(decompressed(packed)).isEqualTo(gateway.get(gateway.http(path)).body());
    assertThat(packed.body()).hasSizeLessThan(1_000);
    assertThat(decompressed(getCompressed(version, "/api/openapi.yaml"))).startsWith("openapi:");
  }

  @ParameterizedTest
  @EnumSource
  void get_shortResponseOrNoAcceptEncoding_isNotCompressed(Version version) throws Exception {
    var unknown = "/api/v1/logs?service=" + Gateway.service("nobody");

    assertThat(new String(getCompressed(version, unknown).body(), UTF_8))
        .isEqualTo("{\"logs\":[]}");
    assertThat(gateway.get(gateway.http("/api/openapi.yaml")).headers().map())
        .doesNotContainKey("Content-Encoding");
  }

  @Test
  void post_longResponse_isNotCompressed() {
    var rows = "{\"severity\":\"loud\"}\n".repeat(200).getBytes(UTF_8);

    for (var more : List.of("", "{\"body\":\"b\",\"service\":\"plain\"}")) {
      var body = Arrays.copyOf(rows, rows.length + more.length());
      System.arraycopy(more.getBytes(UTF_8), 0, body, rows.length, more.length());
      var response =
          gateway.post(
              gateway.http("/api/v1/logs"),
              "application/x-ndjson",
              body,
              "Accept-Encoding",
              "gzip");

      assertThat(response.body()).hasSizeGreaterThan(4096).startsWith("{");
      assertThat(response.headers().map()).doesNotContainKey("content-encoding");
    }
  }
}
