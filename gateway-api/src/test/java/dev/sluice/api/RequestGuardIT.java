package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Checks what a web page in the browser of a user can do to a gateway that the user can reach. */
class RequestGuardIT {
  private static final String OTLP = "{\"resourceLogs\":[]}";
  private static final String MULTIPART = "multipart/form-data; boundary=b";

  private final Gateway gateway = Gateway.shared();

  /** Sends one request over a socket, since HTTP clients set these headers themselves. */
  private static String send(int port, String request, String headers, String body)
      throws IOException {
    try (var socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      socket.setSoTimeout(30_000);
      var bytes = body.getBytes(UTF_8);
      var text =
          request
              + " HTTP/1.1\r\nConnection: close\r\nContent-Length: "
              + bytes.length
              + "\r\n"
              + headers
              + "\r\n\r\n"
              + body;
      socket.getOutputStream().write(text.getBytes(UTF_8));
      return new String(socket.getInputStream().readAllBytes(), UTF_8);
    }
  }

  private List<Integer> ingestPorts() {
    return List.of(gateway.httpPort(), gateway.otlpPort());
  }

  private int managementPort() {
    return gateway.management("/").getPort();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "evil.example",
        "evil.example:8080",
        "localhost.evil.example",
        "127.0.0.1.evil.example"
      })
  void host_ofAnotherSite_is421OnEveryPort(String host) throws IOException {
    for (int port : ingestPorts()) {
      var response =
          send(port, "POST /v1/logs", "Host: " + host + "\r\nContent-Type: application/json", OTLP);

      assertThat(response).startsWith("HTTP/1.1 421 ").contains("/api/problems/misdirected");
    }
    var query = send(gateway.httpPort(), "GET /api/v1/logs", "Host: " + host, "");
    assertThat(query).startsWith("HTTP/1.1 421 ");
    var health = send(managementPort(), "GET /actuator/health", "Host: " + host, "");
    assertThat(health).startsWith("HTTP/1.1 421 ").contains("sluice.security.allowed-hosts");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "localhost",
        "LOCALHOST:8080",
        "localhost.",
        "127.0.0.1",
        "192.0.2.7:80",
        "[::1]:8080"
      })
  void host_localOrAddress_isServed(String host) throws IOException {
    for (int port : ingestPorts()) {
      var response =
          send(port, "POST /v1/logs", "Host: " + host + "\r\nContent-Type: application/json", OTLP);

      assertThat(response).startsWith("HTTP/1.1 200 ");
    }
    assertThat(send(managementPort(), "GET /actuator/health/liveness", "Host: " + host, ""))
        .startsWith("HTTP/1.1 200 ");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "/v1/logs|application/json|Origin: https://evil.example",
        "/v1/logs|application/json|Origin: null",
        "/v1/logs|application/json|Origin: http://localhost:1",
        "/v1/logs|application/json|Sec-Fetch-Site: cross-site",
        "/api/v1/logs|text/plain|Origin: https://evil.example",
        "/api/v1/logs|multipart/form-data; boundary=b|Origin: https://evil.example",
        "/api/logs|application/json|Origin: https://evil.example",
        "/api/v1/logs/search|application/json|Origin: https://evil.example",
      })
  void post_fromAnotherSite_is403(String path, String type, String header) throws IOException {
    var response =
        send(
            gateway.httpPort(),
            "POST " + path,
            "Host: localhost\r\nContent-Type: " + type + "\r\n" + header,
            "{}");

    assertThat(response).startsWith("HTTP/1.1 403 ").contains("/api/problems/cross-site");
  }

  @Test
  void post_walFramesFromAnotherSiteOnEveryIngestPort_is403() throws IOException {
    for (int port : ingestPorts()) {
      var response =
          send(
              port,
              "POST /v1/logs",
              "Host: localhost\r\nOrigin: https://evil.example\r\nContent-Type: " + MULTIPART,
              "--b--");

      assertThat(response).startsWith("HTTP/1.1 403 ");
    }
  }

  @Test
  void post_fromItsOwnPage_isAccepted() throws IOException {
    int port = gateway.httpPort();
    var own = "localhost:" + port;

    var response =
        send(
            port,
            "POST /v1/logs",
            "Host: %s\r\nOrigin: http://%s\r\nSec-Fetch-Site: same-origin\r\nContent-Type: application/json"
                .formatted(own, own),
            OTLP);

    assertThat(response).startsWith("HTTP/1.1 200 ");
  }

  @ParameterizedTest
  @CsvSource({
    "GET,/actuator/ledger",
    "GET,/actuator/deadletters",
    "DELETE,/actuator/deadletters/1",
    "POST,/actuator/deadletters/1"
  })
  void management_fromAnotherSite_is403(String method, String path) throws IOException {
    for (var header : List.of("Origin: https://evil.example", "Sec-Fetch-Site: cross-site")) {
      var response =
          send(managementPort(), method + " " + path, "Host: localhost\r\n" + header, "");

      assertThat(response).startsWith("HTTP/1.1 403 ").contains("/api/problems/cross-site");
    }
  }

  @Test
  void responses_ofEveryPortAndStatus_forbidSniffing() throws IOException {
    var plain = "Host: localhost\r\nContent-Type: text/plain";
    var responses =
        List.of(
            send(gateway.httpPort(), "GET /api/v1/logs?limit=1", plain, ""),
            send(gateway.httpPort(), "GET /api/v1/logs?limit=x", plain, ""),
            send(gateway.httpPort(), "GET /nothing", plain, ""),
            send(gateway.httpPort(), "PUT /v1/logs", plain, ""),
            send(gateway.httpPort(), "GET /openapi.yaml", plain, ""),
            send(gateway.httpPort(), "GET /", "Host: evil.example", ""),
            send(gateway.otlpPort(), "POST /v1/logs", plain, "x"),
            send(gateway.otlpPort(), "GET /", plain, ""),
            send(managementPort(), "GET /actuator/prometheus", plain, ""),
            send(managementPort(), "GET /actuator/env", plain, ""));

    assertThat(responses)
        .allSatisfy(
            response -> {
              assertThat(response).contains("X-Content-Type-Options: nosniff");
              assertThat(response).doesNotContain("Strict-Transport-Security");
            });
  }

  /** A browser does not let the page read the response, since it has no CORS header. */
  @Test
  void get_fromAnotherSite_hasNoCorsHeader() throws IOException {
    var response =
        send(
            gateway.httpPort(),
            "GET /api/v1/logs?limit=1",
            "Host: localhost\r\nOrigin: https://evil.example",
            "");

    assertThat(response).startsWith("HTTP/1.1 200 ").doesNotContain("Access-Control-");
  }
}
