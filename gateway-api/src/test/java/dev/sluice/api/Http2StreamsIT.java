package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.awaitility.Awaitility.await;

import io.netty.handler.codec.http2.Http2Error;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Checks that a failed stream does not affect other streams of its connection. */
@Timeout(60)
class Http2StreamsIT {
  private static final byte[] BLANKS = new byte[1 << 20];
  private static final int OVER_THE_LIMIT = 65;
  private static final String JSON = "application/json";

  static {
    Arrays.fill(BLANKS, (byte) ' ');
  }

  private final Gateway gateway = Gateway.shared();

  private static byte[] log(String service) {
    return "{\"service\":\"%s\",\"body\":\"b\"}".formatted(service).getBytes(UTF_8);
  }

  @ParameterizedTest
  @CsvSource({
    "main, /api/v1/logs, application/json, 413",
    "main, /api/v1/logs, text/plain, 415",
    "main, /api/v1/nothing, application/json, 404",
    "main, /v1/logs, application/x-protobuf, 413",
    "otlp, /v1/logs, application/x-protobuf, 413",
    "otlp, /v1/logs, text/plain, 415",
  })
  void post_respondedWhileSending_isReadAndOtherStreamsContinue(
      String port, String path, String type, int status) throws Exception {
    var service = Gateway.service("stream");
    var otlp = port.equals("otlp");
    try (var connection = new Http2(otlp ? gateway.otlpPort() : gateway.httpPort())) {
      var other =
          connection.post(
              otlp ? "/v1/logs" : "/api/v1/logs", otlp ? "application/x-protobuf" : JSON);
      var whole = otlp ? Otlp.request(service, "b").toByteArray() : log(service);
      other.send(Arrays.copyOf(whole, 10));

      var refused = connection.post(path, type);
      for (int i = 0; i < OVER_THE_LIMIT; i++) {
        refused.send(BLANKS);
      }
      var http2Response = refused.response();
      refused.send(BLANKS);
      refused.end();
      other.send(Arrays.copyOfRange(whole, 10, whole.length));
      other.end();

      assertThat(http2Response.status()).isEqualTo(status);
      assertThat(http2Response.body()).isNotEmpty();
      assertThat(http2Response.headers().contains("connection")).isFalse();
      assertThat(refused.isReset()).isFalse();
      assertThat(other.response().status()).isEqualTo(otlp ? 200 : 202);
    }
    gateway.awaitStored(service, 1);
  }

  /**
   * The window of the connection is 64 KiB: it would be exhausted if the gateway did not return the
   * window of unread bytes.
   */
  @Test
  void post_manyRejectedWithUnreadBytes_flowControlWindowIsRestored() throws Exception {
    var service = Gateway.service("window");
    try (var connection = new Http2(gateway.httpPort())) {
      for (int i = 0; i < 50; i++) {
        var refused = connection.post("/api/v1/nothing", JSON);
        assertThat(catchThrowable(() -> refused.send(new byte[20_000]))).isNull();
        assertThat(refused.response().status()).isEqualTo(404);
      }
      var large = connection.post("/api/v1/logs", JSON);
      large.send(BLANKS);
      large.send(log(service));
      large.end();

      assertThat(large.response().status()).isEqualTo(202);
    }
  }

  @Test
  void post_sendsEndlesslyAfterResponse_isResetWithNoErrorAndOthersContinue() throws Exception {
    try (var connection = new Http2(gateway.httpPort())) {
      var endless = connection.post("/api/v1/nothing", JSON);
      while (!endless.isReset() && catchThrowable(() -> endless.send(BLANKS)) == null) {
        // the connection is still open
      }
      var next = connection.post("/api/v1/logs", JSON);
      next.send(log(Gateway.service("after-endless")));
      next.end();

      assertThat(endless.response().status()).isEqualTo(404);
      assertThat(endless.reset()).isEqualTo(Http2Error.NO_ERROR);
      assertThat(next.response().status()).isEqualTo(202);
    }
  }

  @Test
  void post_resetByClient_releasesMemoryAndOthersContinue() throws Exception {
    try (var connection = new Http2(gateway.httpPort())) {
      var given = connection.post("/api/v1/logs", JSON);
      given.send(BLANKS);
      given.send(BLANKS);
      await().until(() -> gateway.inFlight() >= BLANKS.length);

      given.cancel();

      await().until(() -> gateway.inFlight() == 0);
      var next = connection.post("/api/v1/logs", JSON);
      next.send(log(Gateway.service("after-reset")));
      next.end();
      assertThat(next.response().status()).isEqualTo(202);
    }
  }

  @Test
  void connect_manyStreams_areLimitedToAHundred() throws Exception {
    for (int port : new int[] {gateway.httpPort(), gateway.otlpPort()}) {
      try (var connection = new Http2(port)) {
        await().until(() -> connection.maxStreams() == 100);
      }
    }
  }

  /** Opening and resetting streams costs a client almost nothing. */
  @Test
  void post_floodOfResets_closesConnectionAndReleasesMemory() throws Exception {
    try (var connection = new Http2(gateway.httpPort())) {
      for (int i = 0; i < 1000 && connection.isOpen(); i++) {
        var _ = catchThrowable(() -> connection.post("/api/v1/logs", JSON).cancel());
      }

      await().until(() -> !connection.isOpen());
    }
    await().until(() -> gateway.inFlight() == 0);
    assertThat(gateway.postLogs(new String(log(Gateway.service("flood")), UTF_8)).statusCode())
        .isEqualTo(202);
  }
}
