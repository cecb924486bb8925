package dev.sluice.api;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.grpc.ManagedChannelBuilder;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthGrpc;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests limits and timeouts of connections on every port of a gateway. */
@Timeout(120)
class ConnectionsIT {
  private static final int LIMIT = 4;
  private static final int MAX_RESETS = 50;

  /** A gateway whose timeouts never end a connection of a test. */
  private static Gateway limited;

  private static Gateway impatient;

  private final List<Socket> sockets = new ArrayList<>();

  @BeforeAll
  static void start() {
    limited =
        Gateway.ingestOnly(
            "connections",
            "--sluice.connections.max-per-port=" + LIMIT,
            "--sluice.connections.max-per-address=" + LIMIT,
            "--sluice.connections.request-head-timeout=1h",
            "--sluice.connections.idle-timeout=1h",
            "--sluice.connections.max-stream-resets=" + MAX_RESETS);
    impatient = Gateway.ingestOnly("impatient", "--sluice.connections.request-head-timeout=200ms");
  }

  @AfterEach
  void close() throws IOException {
    for (var socket : sockets) {
      socket.close();
    }
    for (var server : List.of("http", "otlp-http", "grpc")) {
      await().until(() -> open(server) == 0);
    }
  }

  private static double open(String server) {
    return limited.meter("sluice_connections_open{server=\"" + server + "\"}");
  }

  private static int port(Gateway gateway, String server) {
    return switch (server) {
      case "http" -> gateway.httpPort();
      case "otlp-http" -> gateway.otlpPort();
      case "grpc" -> gateway.grpcPort();
      default -> gateway.management("/").getPort();
    };
  }

  private Socket connect(int port) throws IOException {
    var socket = new Socket(InetAddress.getLoopbackAddress(), port);
    socket.setSoTimeout(30_000);
    sockets.add(socket);
    return socket;
  }

  /** Whether the server closes the connection, after it may have sent something. */
  private static boolean isClosedByServer(Socket socket) throws IOException {
    try {
      while (socket.getInputStream().read() >= 0) {
        // HTTP/2 sends its settings
      }
    } catch (SocketException _) {
      // a reset
    }
    return true;
  }

  @ParameterizedTest
  @ValueSource(strings = {"http", "otlp-http", "grpc"})
  void connect_aboveTheLimit_isClosedAndManagementResponds(String server) throws IOException {
    var sample =
        "sluice_connections_refused_total{limit=\"total\",server=\"%s\"}".formatted(server);
    double before = limited.meter(sample);
    for (int i = 0; i < LIMIT; i++) {
      connect(port(limited, server));
    }
    await().until(() -> open(server) == LIMIT);

    var above = connect(port(limited, server));

    assertThat(isClosedByServer(above)).isTrue();
    assertThat(limited.meter(sample)).isEqualTo(before + 1);
    var health = limited.get(limited.management("/actuator/health/liveness"));
    assertThat(health.statusCode()).isEqualTo(200);
  }

  @Test
  void connect_managementAboveItsLimit_otherPortsRespond() throws IOException {
    int port = port(limited, "management");
    for (int i = 0; i < 50; i++) {
      connect(port);
    }

    assertThat(isClosedByServer(connect(port))).isTrue();

    var client = connect(limited.httpPort());
    client.getOutputStream().write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(US_ASCII));
    assertThat(client.getInputStream().readNBytes(8)).asString(US_ASCII).isEqualTo("HTTP/1.1");
  }

  @ParameterizedTest
  @ValueSource(strings = {"http", "otlp-http", "grpc", "management"})
  void connect_nothingSent_isClosed(String server) throws IOException {
    assertThat(isClosedByServer(connect(port(impatient, server)))).isTrue();
  }

  @ParameterizedTest
  @ValueSource(strings = {"http", "otlp-http", "management"})
  void connect_incompleteHead_isClosed(String server) throws IOException {
    var socket = connect(port(impatient, server));
    socket.getOutputStream().write("GET / HTTP/1.1\r\nHost: local".getBytes(US_ASCII));

    assertThat(isClosedByServer(socket)).isTrue();
    var sample =
        "sluice_connections_timeouts_total{server=\"%s\",timeout=\"request-head\"}"
            .formatted(server);
    assertThat(impatient.meter(sample)).isPositive();
  }

  /** A client that resets its calls makes the server work without any limit on calls. */
  @Test
  void grpc_moreResetsThanAllowed_connectionIsClosed() throws IOException {
    try (var client = new Http2Socket(limited.grpcPort())) {
      assertThat(client.resetCalls("grpc.health.v1.Health/Check", MAX_RESETS * 4)).isTrue();
    }
    assertThat(check(limited)).isEqualTo("SERVING");
  }

  @Test
  void grpc_fewResets_connectionStaysOpen() throws IOException {
    try (var client = new Http2Socket(limited.grpcPort())) {
      assertThat(client.resetCalls("grpc.health.v1.Health/Check", MAX_RESETS / 2)).isFalse();
    }
  }

  private static String check(Gateway gateway) {
    var channel =
        ManagedChannelBuilder.forAddress("127.0.0.1", gateway.grpcPort()).usePlaintext().build();
    try {
      return HealthGrpc.newBlockingStub(channel)
          .check(HealthCheckRequest.getDefaultInstance())
          .getStatus()
          .name();
    } finally {
      channel.shutdownNow();
    }
  }
}
