package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.api.config.GatewayApplication;
import dev.sluice.api.config.OtlpPort;
import dev.sluice.testkit.SharedEngines;
import io.grpc.Grpc;
import io.grpc.TlsChannelCredentials;
import io.opentelemetry.proto.collector.logs.v1.LogsServiceGrpc;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Version;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManager;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.grpc.server.lifecycle.GrpcServerLifecycle;

/**
 * Tests one certificate on all ports: a gateway that ingests over TLS into the spool of the shared
 * gateway, which delivers. It is kept until the JVM ends, because closing it would stop the event
 * loops that all gateways of a JVM share.
 */
class TlsIT {
  private static final String JSON = "application/json";
  private static final String PASSWORD = TlsCertificates.PASSWORD;

  @TempDir private static Path folder;

  private static ConfigurableApplicationContext application;
  private static TrustManager[] trust;

  private final Gateway gateway = Gateway.shared();

  @BeforeAll
  static void start() throws Exception {
    var store = TlsCertificates.create(folder.resolve("gateway.p12"));
    trust = TlsCertificates.trusting(store);
    var spring = new SpringApplication(GatewayApplication.class);
    spring.setRegisterShutdownHook(false);
    application =
        spring.run(
            "--server.port=0",
            "--server.ssl.bundle=gateway",
            "--management.server.port=0",
            "--spring.grpc.server.port=0",
            "--spring.grpc.server.ssl.bundle=gateway",
            "--spring.ssl.bundle.jks.gateway.keystore.location=" + store.toUri(),
            "--spring.ssl.bundle.jks.gateway.keystore.password=" + PASSWORD,
            "--spring.jmx.enabled=false",
            "--sluice.roles=ingest",
            "--sluice.instance=tls",
            "--sluice.ingest.otlp-http-port=0",
            "--sluice.wal.dir=" + store.resolveSibling("wal"),
            "--sluice.redis.url=" + SharedEngines.redis().url(),
            "--sluice.clickhouse.url=" + SharedEngines.clickHouse().url(),
            "--sluice.clickhouse.password=" + SharedEngines.clickHouse().password());
  }

  private static HttpClient client(Version version) throws Exception {
    var context = SSLContext.getInstance("TLS");
    context.init(null, trust, null);
    return HttpClient.newBuilder().version(version).sslContext(context).build();
  }

  private static int httpPort() {
    return Integer.parseInt(application.getEnvironment().getRequiredProperty("local.server.port"));
  }

  private static URI uri(int port, String path) {
    return URI.create("https://localhost:" + port + path);
  }

  static Stream<Arguments> endpoints() {
    return Stream.of(Version.values())
        .flatMap(
            version ->
                Stream.of(
                    Arguments.of(version, httpPort()),
                    Arguments.of(version, OtlpPort.of(application))));
  }

  @ParameterizedTest
  @MethodSource("endpoints")
  void post_eitherVersion_isStored(Version version, int port) throws Exception {
    var service = Gateway.service("tls");
    try (var client = client(version)) {
      var response =
          client.send(
              Gateway.postRequest(
                  uri(port, "/v1/logs"), JSON, Otlp.everythingInJson(service).getBytes(UTF_8)),
              BodyHandlers.ofString());

      assertThat(response.statusCode()).isEqualTo(200);
      assertThat(response.version()).isEqualTo(version);
      assertThat(response.sslSession()).isPresent();
    }
    gateway.awaitStored(service, 1);
  }

  /** The body is far above the limit, so the client is still sending when it gets the response. */
  @ParameterizedTest
  @MethodSource("endpoints")
  void post_respondedWhileSending_isReadAndNextRequestSucceeds(Version version, int port)
      throws Exception {
    var block = new byte[1 << 20];
    try (var client = client(version)) {
      var tooLarge =
          HttpRequest.newBuilder(uri(port, "/v1/logs"))
              .header("Content-Type", JSON)
              .POST(
                  BodyPublishers.ofByteArrays(
                      () -> Stream.generate(() -> block).limit(80).iterator()))
              .build();

      var refused = client.send(tooLarge, BodyHandlers.ofString());
      var next =
          client.send(
              Gateway.postRequest(uri(port, "/v1/logs"), JSON, "{}".getBytes(UTF_8)),
              BodyHandlers.ofString());

      assertThat(refused.statusCode()).isEqualTo(413);
      assertThat(refused.version()).isEqualTo(version);
      assertThat(next.statusCode()).isEqualTo(200);
    }
  }

  @Test
  void get_inPlainText_hasNoResponse() {
    for (int port : List.of(httpPort(), OtlpPort.of(application))) {
      var plain = HttpRequest.newBuilder(URI.create("http://localhost:" + port + "/")).build();

      assertThatThrownBy(() -> Gateway.send(plain, BodyHandlers.ofString()))
          .hasRootCauseInstanceOf(IOException.class);
    }
  }

  @Test
  void export_overGrpc_isStored() throws Exception {
    var service = Gateway.service("tls-grpc");
    var credentials = TlsChannelCredentials.newBuilder().trustManager(trust).build();
    int port = application.getBean(GrpcServerLifecycle.class).getPort();
    var channel = Grpc.newChannelBuilderForAddress("localhost", port, credentials).build();
    try {
      var _ = LogsServiceGrpc.newBlockingStub(channel).export(Otlp.request(service, "b"));
    } finally {
      channel.shutdownNow().awaitTermination(30, TimeUnit.SECONDS);
    }
    gateway.awaitStored(service, 1);
  }

  private static List<Integer> allPorts() {
    var management = application.getEnvironment().getRequiredProperty("local.management.port");
    return List.of(
        httpPort(),
        OtlpPort.of(application),
        Integer.parseInt(management),
        application.getBean(GrpcServerLifecycle.class).getPort());
  }

  @ParameterizedTest
  @ValueSource(ints = {TlsHandshake.TLS_1_0, TlsHandshake.TLS_1_1})
  void handshake_oldVersion_isRefusedOnEveryPort(int version) throws IOException {
    for (int port : allPorts()) {
      assertThat(
              TlsHandshake.isAccepted(
                  port,
                  version,
                  TlsHandshake.ECDHE_ECDSA_AES_128_CBC_SHA,
                  TlsHandshake.ECDHE_ECDSA_AES_256_CBC_SHA))
          .as("port " + port)
          .isFalse();
    }
  }

  @ParameterizedTest
  @ValueSource(
      ints = {
        TlsHandshake.ECDHE_ECDSA_AES_128_CBC_SHA,
        TlsHandshake.ECDHE_ECDSA_AES_256_CBC_SHA,
        TlsHandshake.ECDHE_ECDSA_AES_128_CBC_SHA256,
        TlsHandshake.ECDHE_ECDSA_AES_256_CBC_SHA384
      })
  void handshake_cbcSuite_isRefusedOnEveryPort(int suite) throws IOException {
    for (int port : allPorts()) {
      assertThat(TlsHandshake.isAccepted(port, TlsHandshake.TLS_1_2, suite))
          .as("port " + port)
          .isFalse();
    }
  }

  @Test
  void handshake_gcmSuite_isAcceptedOnEveryPort() throws IOException {
    for (int port : allPorts()) {
      assertThat(
              TlsHandshake.isAccepted(
                  port, TlsHandshake.TLS_1_2, TlsHandshake.ECDHE_ECDSA_AES_128_GCM_SHA256))
          .as("port " + port)
          .isTrue();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"TLSv1.2", "TLSv1.3"})
  void handshake_currentVersion_isAcceptedOnEveryPort(String version) throws Exception {
    var context = SSLContext.getInstance("TLS");
    context.init(null, trust, null);
    for (int port : allPorts()) {
      try (var socket = (SSLSocket) context.getSocketFactory().createSocket("localhost", port)) {
        socket.setEnabledProtocols(new String[] {version});
        socket.startHandshake();

        assertThat(socket.getSession().getProtocol()).isEqualTo(version);
      }
    }
  }

  @Test
  void responses_overTls_haveStrictTransportSecurity() throws Exception {
    try (var client = client(Version.HTTP_1_1)) {
      for (int port : allPorts().subList(0, 3)) {
        var response =
            client.send(
                HttpRequest.newBuilder(uri(port, "/actuator/health")).build(),
                BodyHandlers.ofString());

        assertThat(response.headers().firstValue("Strict-Transport-Security"))
            .hasValue("max-age=31536000");
        assertThat(response.headers().firstValue("X-Content-Type-Options")).hasValue("nosniff");
      }
    }
  }
}
