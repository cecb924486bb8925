package dev.sluice.testkit;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests {@link TcpProxy} with a server that echoes and counts every byte. */
@Timeout(30)
class TcpProxyTest {
  static final int TIMEOUT_MILLIS = 3_000;

  final AtomicInteger served = new AtomicInteger();
  ServerSocket server;
  TcpProxy proxy;

  @BeforeEach
  void start() throws IOException {
    server = new ServerSocket(0, 16, InetAddress.getLoopbackAddress());
    Thread.startVirtualThread(this::serve);
    proxy = TcpProxy.to(server.getLocalPort());
  }

  @AfterEach
  void close() throws IOException {
    proxy.close();
    server.close();
  }

  @Test
  void forward_noFault_isTransparent() throws Exception {
    try (var client = connect()) {
      byte[] sent = new byte[1 << 20];
      sent[12_345] = 42;
      var write = new FutureTask<>(() -> write(client, sent));
      Thread.startVirtualThread(write);

      assertThat(client.getInputStream().readNBytes(sent.length)).isEqualTo(sent);

      write.get(10, SECONDS);
      assertThat(proxy.requestBytes()).isEqualTo(sent.length);
      await().until(() -> proxy.responseBytes() == sent.length);
    }
  }

  @Test
  void forward_clientHalfCloses_getsTheRestOfTheResponse() throws Exception {
    try (var client = connect()) {
      client.getOutputStream().write(new byte[100]);
      client.shutdownOutput();

      assertThat(client.getInputStream().readAllBytes()).hasSize(100);
    }
    await().until(() -> proxy.connections() == 0);
  }

  @Test
  void resetConnections_openConnection_resetsItAndAcceptsNewOnes() throws Exception {
    try (var client = connect()) {
      assertThat(echo(client, 1)).isEqualTo(1);

      proxy.resetConnections();

      assertClosed(client);
    }
    try (var client = connect()) {
      assertThat(echo(client, 2)).isEqualTo(2);
    }
    assertThat(proxy.acceptedConnections()).isEqualTo(2);
  }

  @Test
  void dropNextResponse_twoRequests_dropsTheFirstResponseAfterItWasServed() throws Exception {
    try (var client = connect();
        var other = connect()) {
      assertThat(echo(client, 1)).isEqualTo(1);
      proxy.dropNextResponse();

      client.getOutputStream().write(2);

      assertClosed(client);
      assertThat(served).hasValue(2);
      assertThat(proxy.droppedResponses()).isEqualTo(1);
      assertThat(echo(other, 3)).isEqualTo(3);
    }
  }

  @Test
  void dropResponses_untilHealed_dropsThemAll() throws Exception {
    proxy.dropResponses();
    for (int i = 1; i <= 2; i++) {
      try (var client = connect()) {
        client.getOutputStream().write(1);
        assertClosed(client);
      }
    }
    assertThat(proxy.droppedResponses()).isEqualTo(2);
    assertThat(served).hasValue(2);

    proxy.heal();

    try (var client = connect()) {
      assertThat(echo(client, 3)).isEqualTo(3);
    }
  }

  @Test
  void freeze_request_getsItsResponseOnlyAfterHealing() throws Exception {
    try (var client = connect()) {
      assertThat(echo(client, 1)).isEqualTo(1);
      proxy.freeze();
      client.getOutputStream().write(2);
      client.setSoTimeout(100);

      assertThatThrownBy(() -> client.getInputStream().read())
          .isInstanceOf(SocketTimeoutException.class);
      assertThat(served).hasValue(1);

      proxy.heal();
      client.setSoTimeout(TIMEOUT_MILLIS);
      assertThat(client.getInputStream().read()).isEqualTo(2);
    }
  }

  @Test
  void throttle_someBytes_takesAtLeastItsTime() throws Exception {
    proxy.throttle(20_000);
    try (var client = connect()) {
      long start = System.nanoTime();
      var write = new FutureTask<>(() -> write(client, new byte[10_000]));
      Thread.startVirtualThread(write);

      client.getInputStream().readNBytes(10_000);

      assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThan(Duration.ofMillis(450));
      write.get(10, SECONDS);
    }
  }

  @Test
  void refuseConnections_newConnection_isResetAndTheOldOneContinues() throws Exception {
    try (var old = connect()) {
      assertThat(echo(old, 1)).isEqualTo(1);
      proxy.refuseConnections();

      try (var client = connect()) {
        assertClosed(client);
      } catch (IOException _) {
        // reset before it was established
      }

      await().until(() -> proxy.refusedConnections() == 1);
      assertThat(echo(old, 2)).isEqualTo(2);
    }
    proxy.heal();
    try (var client = connect()) {
      assertThat(echo(client, 3)).isEqualTo(3);
    }
  }

  @Test
  void forward_targetUnreachable_closesTheConnection() throws Exception {
    int port = server.getLocalPort();
    server.close();
    await().until(() -> isUnreachable(port)); // the operating system may take a moment
    try (var client = connect()) {
      assertClosed(client);
    } catch (IOException _) {
      // reset before it was established
    }
    await().until(() -> proxy.refusedConnections() == 1 && proxy.connections() == 0);
  }

  @Test
  void close_openConnection_closesIt() throws Exception {
    try (var client = connect()) {
      assertThat(echo(client, 1)).isEqualTo(1);

      proxy.close();

      assertClosed(client);
    }
    assertThat(proxy.connections()).isZero();
  }

  private static boolean isUnreachable(int port) {
    try (var _ = new Socket(InetAddress.getLoopbackAddress(), port)) {
      return false;
    } catch (IOException _) {
      return true;
    }
  }

  private Socket connect() throws IOException {
    var socket = new Socket(InetAddress.getLoopbackAddress(), proxy.port());
    socket.setSoTimeout(TIMEOUT_MILLIS); // an interrupt of the thread does not end a read
    return socket;
  }

  private static int echo(Socket socket, int value) throws IOException {
    socket.getOutputStream().write(value);
    return socket.getInputStream().read();
  }

  private static int write(Socket socket, byte[] bytes) throws IOException {
    socket.getOutputStream().write(bytes);
    return bytes.length;
  }

  private static void assertClosed(Socket socket) {
    try {
      assertThat(socket.getInputStream().read()).isEqualTo(-1);
    } catch (SocketTimeoutException e) {
      throw new AssertionError("the connection is still open", e);
    } catch (IOException _) {
      // reset
    }
  }

  private void serve() {
    while (!server.isClosed()) {
      try {
        var client = server.accept();
        Thread.startVirtualThread(() -> echo(client));
      } catch (IOException _) {
        return;
      }
    }
  }

  private void echo(Socket client) {
    byte[] buffer = new byte[1 << 16];
    try (client) {
      for (int n = client.getInputStream().read(buffer);
          n >= 0;
          n = client.getInputStream().read(buffer)) {
        served.addAndGet(n);
        client.getOutputStream().write(buffer, 0, n);
      }
    } catch (IOException _) {
      // the client has closed the connection
    }
  }
}
