package dev.sluice.api.net;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.netty.DisposableServer;
import reactor.netty.http.HttpProtocol;
import reactor.netty.http.server.HttpServer;

/** Tests limits and timeouts of connections with real sockets. */
@Timeout(60)
class ServerConnectionsTest {
  private static final Duration NEVER = Duration.ofHours(1);
  private static final Duration SOON = Duration.ofMillis(100);

  /** Long enough to send a first request on a busy machine. */
  private static final Duration LATER = Duration.ofSeconds(3);

  private static final ConnectionLimits LIMITS = new ConnectionLimits(100, 100);
  private static final String GET = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
  private static final String HTTP2_PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

  /** An empty frame of type SETTINGS on stream 0. */
  private static final byte[] HTTP2_SETTINGS = {0, 0, 0, 4, 0, 0, 0, 0, 0};

  private static final byte[] HTTP2_PING = {0, 0, 8, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};

  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private final List<Socket> sockets = new ArrayList<>();
  private final AtomicReference<Mono<Void>> beforeResponse = new AtomicReference<>(Mono.empty());
  private final List<DisposableServer> servers = new ArrayList<>();

  private void start(ConnectionLimits limits, Duration headTimeout, Duration idleTimeout) {
    var http =
        HttpServer.create()
            .host("127.0.0.1")
            .port(0)
            .protocol(HttpProtocol.HTTP11, HttpProtocol.H2C)
            .handle(
                (_, response) ->
                    beforeResponse.get().then(response.sendString(Mono.just("ok")).then()));
    servers.add(
        new ServerConnections(headTimeout, idleTimeout, meters)
            .protect(http, "test", limits)
            .bindNow());
  }

  @AfterEach
  void stop() throws IOException {
    for (var socket : sockets) {
      socket.close();
    }
    servers.forEach(DisposableServer::disposeNow);
  }

  private int port() {
    return servers.getFirst().port();
  }

  private Socket connect() throws IOException {
    var socket = new Socket(InetAddress.getLoopbackAddress(), port());
    socket.setSoTimeout(30_000);
    sockets.add(socket);
    return socket;
  }

  private static void send(Socket socket, String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(US_ASCII));
  }

  /** Waits for the first bytes of a response; empty when the server closed the connection. */
  private static String receive(Socket socket) throws IOException {
    var bytes = new byte[1024];
    try {
      int length = socket.getInputStream().read(bytes);
      return length < 0 ? "" : new String(bytes, 0, length, US_ASCII);
    } catch (SocketException _) {
      return ""; // a reset
    }
  }

  private Socket served() throws IOException {
    var socket = connect();
    send(socket, GET);
    assertThat(receive(socket)).startsWith("HTTP/1.1 200 ");
    return socket;
  }

  private double count(String name, String tag, String value) {
    return meters.get(name).tag("server", "test").tag(tag, value).counter().count();
  }

  private double open() {
    return meters.get("sluice.connections.open").tag("server", "test").gauge().value();
  }

  @Test
  void connect_aboveTheLimit_isClosedAtOnceAndCounted() throws IOException {
    start(new ConnectionLimits(3, 100), NEVER, NEVER);
    for (int i = 0; i < 3; i++) {
      served();
    }

    var above = connect();

    assertThat(receive(above)).isEmpty();
    assertThat(count("sluice.connections.refused", "limit", "total")).isEqualTo(1);
    assertThat(open()).isEqualTo(3);
  }

  @Test
  void connect_aboveTheLimitOfItsAddress_isClosedAtOnceAndCounted() throws IOException {
    start(new ConnectionLimits(100, 2), NEVER, NEVER);
    served();
    served();

    var above = connect();

    assertThat(receive(above)).isEmpty();
    assertThat(count("sluice.connections.refused", "limit", "address")).isEqualTo(1);
    assertThat(open()).isEqualTo(2);
  }

  @Test
  void connect_afterAnotherConnectionEnded_isServed() throws IOException {
    start(new ConnectionLimits(1, 1), NEVER, NEVER);
    for (int i = 0; i < 3; i++) {
      served().close();
      await().until(() -> open() == 0);
    }
    assertThat(count("sluice.connections.refused", "limit", "total")).isZero();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "GET / HTTP/1.1\r\nHost: lo", HTTP2_PREFACE})
  void connect_noCompleteHead_isClosed(String sent) throws IOException {
    start(LIMITS, SOON, NEVER);
    var socket = connect();

    send(socket, sent);

    while (!receive(socket).isEmpty()) {
      // HTTP/2 sends settings before the end
    }
    assertThat(count("sluice.connections.timeouts", "timeout", "request-head")).isEqualTo(1);
    await().until(() -> open() == 0);
  }

  /** Each byte comes long before the timeout, and the head never ends. */
  @Test
  void connect_headByteByByte_isClosed() throws Exception {
    start(LIMITS, Duration.ofMillis(300), NEVER);
    var socket = connect();
    send(socket, "GET / HTTP/1.1\r\nX: ");

    await().pollInterval(Duration.ofMillis(10)).until(() -> !canSend(socket));

    assertThat(count("sluice.connections.timeouts", "timeout", "request-head")).isEqualTo(1);
  }

  private static boolean canSend(Socket socket) {
    try {
      send(socket, "x");
      return true;
    } catch (IOException _) {
      return false;
    }
  }

  @Test
  void request_secondHeadIncomplete_isClosed() throws IOException {
    start(LIMITS, LATER, NEVER);
    var socket = served();

    send(socket, "GET / HTTP/1.1\r\n");

    assertThat(receive(socket)).isEmpty();
    assertThat(count("sluice.connections.timeouts", "timeout", "request-head")).isEqualTo(1);
  }

  @Test
  void request_noneAfterTheFirst_isClosedAfterTheIdleTimeout() throws IOException {
    start(LIMITS, NEVER, SOON);
    var socket = served();

    assertThat(receive(socket)).isEmpty();
    assertThat(count("sluice.connections.timeouts", "timeout", "idle")).isEqualTo(1);
  }

  @Test
  void request_takesLongerThanTheTimeouts_isServed() throws IOException {
    start(LIMITS, LATER, LATER);
    var response = Sinks.<Void>one();
    beforeResponse.set(response.asMono());
    var slow = connect();
    send(slow, GET);
    await().until(() -> open() == 1);
    // this connection starts later and its timeout ends it, so the timeouts of the other are over
    assertThat(receive(connect())).isEmpty();

    response.emitEmpty(Sinks.EmitFailureHandler.FAIL_FAST);

    assertThat(receive(slow)).startsWith("HTTP/1.1 200 ");
  }

  /** A ping is not a request. */
  @Test
  void http2_pingsOnly_isClosed() throws Exception {
    start(LIMITS, Duration.ofMillis(300), NEVER);
    var socket = connect();
    send(socket, HTTP2_PREFACE);
    socket.getOutputStream().write(HTTP2_SETTINGS);

    await()
        .pollInterval(Duration.ofMillis(10))
        .until(
            () -> {
              try {
                socket.getOutputStream().write(HTTP2_PING);
                return false;
              } catch (IOException _) {
                return true;
              }
            });

    assertThat(count("sluice.connections.timeouts", "timeout", "request-head")).isEqualTo(1);
  }

  @Test
  void http2_requestAfterTheHeadTimeout_isServedOnTheSameConnection() throws IOException {
    start(LIMITS, LATER, NEVER);
    var client =
        reactor.netty.http.client.HttpClient.create(
                reactor.netty.resources.ConnectionProvider.create("http2-test", 1))
            .protocol(HttpProtocol.H2C)
            .host("127.0.0.1")
            .port(port());
    assertThat(client.get().uri("/").responseContent().aggregate().asString().block())
        .isEqualTo("ok");
    // its timeout ends this connection, so the same timeout of the other is over
    assertThat(receive(connect())).isEmpty();

    assertThat(client.get().uri("/").responseContent().aggregate().asString().block())
        .isEqualTo("ok");
    await().until(() -> open() == 1);
  }
}
