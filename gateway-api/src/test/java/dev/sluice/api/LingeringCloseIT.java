package dev.sluice.api;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Checks that a client which gets its response before it has sent the complete request can read the
 * complete response: the connection is not reset because of the bytes that are still sent.
 */
@Timeout(60)
class LingeringCloseIT {
  private static final int BLOCK = 1 << 20;
  private static final long BODY = 128L << 20; // more than the limit of 64 MiB

  private final Gateway gateway = Gateway.shared();

  @ParameterizedTest
  @CsvSource({
    "/api/v1/logs, application/json, length, keep-alive, 413",
    "/api/v1/logs, application/json, length, close, 413",
    "/api/v1/logs, application/json, chunked, keep-alive, 413",
    "/api/v1/logs, application/json, chunked, close, 413",
    "/v1/logs, application/x-protobuf, length, close, 413",
    "/v1/logs, application/x-protobuf, chunked, close, 413",
    "/api/v1/logs, text/plain, length, close, 415",
    "/api/v1/nothing, application/json, chunked, close, 404",
  })
  void post_respondedBeforeBodyIsRead_responseIsReadInFull(
      String path, String type, String framing, String connection, int status) throws Exception {
    for (int port : ports(path)) {
      assertAnswered(port, path, type, framing.equals("chunked"), connection, status);
    }
  }

  private int[] ports(String path) {
    return path.equals("/v1/logs")
        ? new int[] {gateway.httpPort(), gateway.otlpPort()}
        : new int[] {gateway.httpPort()};
  }

  private static void assertAnswered(
      int port, String path, String type, boolean chunked, String connection, int status)
      throws Exception {
    try (var socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      socket.setSoTimeout(30_000);
      var out = socket.getOutputStream();
      out.write(head(path, type, chunked, connection).getBytes(US_ASCII));
      var sending = CompletableFuture.supplyAsync(() -> send(out, chunked));

      var response = readResponse(socket);

      assertThat(response).startsWith("HTTP/1.1 " + status + " ");
      assertThat(sending.join()).as("bytes that could be sent").isEqualTo(BODY);
      assertThat(socket.getInputStream().read()).as("end of stream").isNegative();
    }
  }

  @Test
  void post_shortBodyNotRead_connectionIsReused() throws Exception {
    try (var socket = new Socket(InetAddress.getLoopbackAddress(), gateway.httpPort())) {
      socket.setSoTimeout(30_000);
      var body = "{\"service\":\"%s\",\"body\":\"b\"}".formatted(Gateway.service("reused"));

      post(socket, "text/plain", body);
      assertThat(readResponse(socket)).startsWith("HTTP/1.1 415 ");
      post(socket, "application/json", body);
      assertThat(readResponse(socket)).startsWith("HTTP/1.1 202 ");
      post(socket, "application/json", "nonsense");
      assertThat(readResponse(socket)).startsWith("HTTP/1.1 400 ");
      post(socket, "application/json", body);
      assertThat(readResponse(socket)).startsWith("HTTP/1.1 202 ");
    }
  }

  /**
   * The client sends its next request immediately after a response. The request arrives before the
   * end of the previous exchange, is queued in reactor-netty, and is then handled on the event
   * loop.
   */
  @Test
  void get_pipelined_alwaysHasAResponse() throws Exception {
    try (var socket = new Socket(InetAddress.getLoopbackAddress(), gateway.httpPort())) {
      socket.setSoTimeout(5_000);
      socket.setTcpNoDelay(true);
      var body = "{\"service\":\"%s\",\"body\":\"b\"}".formatted(Gateway.service("pipelined"));
      var invalid = "GET /api/v1/logs?limit=0 HTTP/1.1\r\nHost: localhost\r\n\r\n";
      for (int i = 0; i < 300; i++) {
        post(socket, "application/json", body);
        assertThat(readResponse(socket)).startsWith("HTTP/1.1 202 ");
        for (int j = 0; j < 2; j++) {
          socket.getOutputStream().write(invalid.getBytes(US_ASCII));
          assertThat(readResponse(socket)).startsWith("HTTP/1.1 400 ");
        }
      }
    }
  }

  private static void post(Socket socket, String type, String body) throws IOException {
    var request =
        "POST /api/v1/logs HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s"
            .formatted(type, body.length(), body);
    socket.getOutputStream().write(request.getBytes(US_ASCII));
  }

  @ParameterizedTest
  @ValueSource(strings = {"keep-alive", "close"})
  void post_clientNeverStopsSending_isDisconnected(String connection) throws Exception {
    try (var socket = new Socket(InetAddress.getLoopbackAddress(), gateway.httpPort())) {
      socket.setSoTimeout(30_000);
      var out = socket.getOutputStream();
      out.write(head("/api/v1/logs", "application/json", true, connection).getBytes(US_ASCII));

      var sending = CompletableFuture.supplyAsync(() -> sendEndlessly(out));

      assertThat(readResponse(socket)).startsWith("HTTP/1.1 413 ");
      assertThat(sending.join()).isInstanceOf(IOException.class);
    }
  }

  private static String head(String path, String type, boolean chunked, String connection) {
    return "POST "
        + path
        + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
        + type
        + "\r\nConnection: "
        + connection
        + (chunked ? "\r\nTransfer-Encoding: chunked" : "\r\nContent-Length: " + BODY)
        + "\r\n\r\n";
  }

  /**
   * Returns the number of bytes that could be sent: all bytes, unless the connection was closed
   * before.
   */
  private static long send(OutputStream out, boolean chunked) {
    long sent = 0;
    try {
      while (sent < BODY) {
        block(out, chunked);
        sent += BLOCK;
      }
      if (chunked) {
        out.write("0\r\n\r\n".getBytes(US_ASCII));
      }
    } catch (IOException _) {
      // the gateway may close the connection after its response
    }
    return sent;
  }

  private static IOException sendEndlessly(OutputStream out) {
    try {
      while (true) {
        block(out, true);
      }
    } catch (IOException e) {
      return e;
    }
  }

  private static void block(OutputStream out, boolean chunked) throws IOException {
    var blanks = new byte[BLOCK];
    Arrays.fill(blanks, (byte) ' ');
    if (chunked) {
      out.write((Integer.toHexString(BLOCK) + "\r\n").getBytes(US_ASCII));
    }
    out.write(blanks);
    if (chunked) {
      out.write("\r\n".getBytes(US_ASCII));
    }
  }

  /**
   * Reads the head, and as many bytes of the body as the head declares; a reset while reading fails
   * the test.
   */
  private static String readResponse(Socket socket) throws IOException {
    var in = socket.getInputStream();
    var head = new StringBuilder(256);
    while (head.indexOf("\r\n\r\n") < 0) {
      int b = in.read();
      assertThat(b).as("end of stream within the head: " + head).isNotNegative();
      head.append((char) b);
    }
    var matcher = Pattern.compile("(?i)content-length: (\\d+)").matcher(head);
    assertThat(matcher.find()).isTrue();
    int length = Integer.parseInt(matcher.group(1));
    byte[] body = in.readNBytes(length);
    assertThat(body).hasSize(length);
    return head + new String(body, UTF_8);
  }
}
