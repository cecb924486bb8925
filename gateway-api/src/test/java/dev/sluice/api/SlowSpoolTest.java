package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import com.google.rpc.RetryInfo;
import dev.sluice.api.ops.MicrometerMetrics;
import dev.sluice.api.protocol.ProtocolRegistration.ProtocolPort;
import dev.sluice.api.protocol.otlp.OtlpProtocol;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.ingest.IngestService;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.port.Spool;
import dev.sluice.testkit.InMemoryLogStore;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.StatusProto;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.opentelemetry.proto.collector.logs.v1.LogsServiceGrpc;
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.http.server.reactive.ReactorHttpHandlerAdapter;
import org.springframework.web.reactive.function.server.RouterFunctions;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;

/**
 * Checks a spool that takes longer than the ack timeout: the client gets a retryable error, and the
 * append in progress is counted and its memory held until it completes.
 */
class SlowSpoolTest {
  private static final Duration ACK_TIMEOUT = Duration.ofMillis(200);

  private final BlockedSpool spool = new BlockedSpool();
  private final MemoryBudget budget = new MemoryBudget(1 << 20);
  private final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private final IngestFixture fixture =
      IngestFixture.of(
          spool,
          Limits.DEFAULT,
          budget,
          new IngestService.BatchLimits(100, 1 << 20, Duration.ofMillis(1)),
          new MicrometerMetrics(meters));
  private DisposableServer http;
  private Server grpc;

  private void serve(Duration requestBodyTimeout) {
    var routes = fixture.routes(new InMemoryLogStore(), requestBodyTimeout, ACK_TIMEOUT);
    http =
        HttpServer.create()
            .host("127.0.0.1")
            .port(0)
            .handle(new ReactorHttpHandlerAdapter(RouterFunctions.toHttpHandler(routes)))
            .bindNow();
  }

  @BeforeEach
  void start() throws IOException {
    serve(Duration.ofMinutes(1));
    var server = NettyServerBuilder.forPort(0);
    IngestFixture.addServices(
        server, new OtlpProtocol(new ProtocolPort("test", -1)), fixture.pipeline(ACK_TIMEOUT));
    grpc = server.build().start();
  }

  @AfterEach
  void stop() {
    http.disposeNow();
    grpc.shutdownNow();
  }

  private double records(String protocol, String outcome) {
    return meters
        .get("sluice.ingest.records")
        .tags("protocol", protocol, "outcome", outcome)
        .counter()
        .count();
  }

  @Test
  void post_appendTimesOut_is503AndCountedOnceAppended() {
    var response =
        Gateway.send(
            Gateway.postRequest(
                URI.create("http://127.0.0.1:" + http.port() + "/api/v1/logs"),
                "application/json",
                "{\"body\":\"b\"}".getBytes(UTF_8)),
            BodyHandlers.ofString());

    assertThat(response.statusCode()).isEqualTo(503);
    assertThat(response.headers().firstValue("Retry-After")).hasValue("1");
    assertThat(budget.used()).isPositive();
    assertThat(records("http-json", "accepted")).isZero();
    spool.appendResult.complete(new Spool.AppendResult.Accepted(new Spool.Receipt(0, "1")));
    assertThat(budget.used()).isZero();
    assertThat(records("http-json", "accepted")).isEqualTo(1);
  }

  @Test
  void post_clientDisconnectsWhileWaiting_isCountedOnceAppended() throws IOException {
    try (var socket = new Socket(InetAddress.getLoopbackAddress(), http.port())) {
      var post =
          "POST /api/v1/logs HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\n"
              + "Content-Length: 12\r\n\r\n{\"body\":\"b\"}";
      socket.getOutputStream().write(post.getBytes(UTF_8));
      await().until(() -> spool.appendCalled);
    }

    await()
        .during(Duration.ofMillis(100))
        .until(() -> budget.used() > 0 && records("http-json", "accepted") == 0);
    spool.appendResult.complete(new Spool.AppendResult.Accepted(new Spool.Receipt(0, "1")));

    assertThat(budget.used()).isZero();
    assertThat(records("http-json", "accepted")).isEqualTo(1);
  }

  @Test
  void export_appendTimesOut_isUnavailableAndCountedOnceAppended() {
    var channel =
        ManagedChannelBuilder.forAddress("127.0.0.1", grpc.getPort()).usePlaintext().build();
    try {
      var logs = LogsServiceGrpc.newBlockingStub(channel);

      var failure =
          catchThrowableOfType(
              StatusRuntimeException.class, () -> logs.export(Otlp.request("slow", "b")));

      assertThat(failure.getStatus().getCode()).isEqualTo(Status.Code.UNAVAILABLE);
      assertThat(budget.used()).isPositive();
      spool.appendResult.complete(new Spool.AppendResult.Accepted(new Spool.Receipt(0, "1")));
      assertThat(budget.used()).isZero();
      assertThat(records("otlp-grpc", "accepted")).isEqualTo(1);
    } finally {
      channel.shutdownNow();
    }
  }

  @Test
  void post_bodyShorterThanContentLength_reservesOnlyReceivedBytes() throws IOException {
    try (var socket = new Socket(InetAddress.getLoopbackAddress(), http.port())) {
      var post =
          "POST /api/v1/logs HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\n"
              + "Content-Length: 60000000\r\n\r\n{";
      socket.getOutputStream().write(post.getBytes(UTF_8));

      await().until(() -> budget.used() > 0);

      assertThat(budget.used()).isLessThanOrEqualTo(1 << 20);
    }
    await().until(() -> budget.used() == 0);
  }

  private String rawPost(String headers, String body) throws IOException {
    return rawPost("/api/v1/logs", headers, body);
  }

  private String rawPost(String path, String headers, String body) throws IOException {
    try (var socket = new Socket(InetAddress.getLoopbackAddress(), http.port())) {
      socket.setSoTimeout(20_000);
      var post = "POST " + path + " HTTP/1.1\r\nHost: gateway\r\n" + headers + "\r\n" + body;
      socket.getOutputStream().write(post.getBytes(UTF_8));
      // until the gateway closes the connection
      return new String(socket.getInputStream().readAllBytes(), UTF_8);
    }
  }

  @Test
  void post_bodyTimesOut_is408AndConnectionIsClosed() throws IOException {
    http.disposeNow();
    serve(Duration.ofMillis(50));

    var response =
        rawPost("Content-Type: application/json\r\nContent-Length: 60000000\r\n", "{\"body\":");

    assertThat(response)
        .startsWith("HTTP/1.1 408 ")
        .contains("\"type\":\"/api/problems/request-timeout\"", "was not complete within 50 ms")
        .containsIgnoringCase("connection: close");
    assertThat(budget.used()).isZero();
    assertThat(spool.appendCalled).isFalse();
  }

  /** OTLP clients do not retry after 408. */
  @ParameterizedTest
  @ValueSource(strings = {"application/json", "application/x-protobuf"})
  void otlp_bodyTimesOut_is503WithRetryAfterAndConnectionIsClosed(String type) throws IOException {
    http.disposeNow();
    serve(Duration.ofMillis(50));

    var response =
        rawPost("/v1/logs", "Content-Type: " + type + "\r\nContent-Length: 60000000\r\n", "{");

    assertThat(response)
        .startsWith("HTTP/1.1 503 ")
        .contains("was not complete within 50 ms")
        .containsIgnoringCase("retry-after: 1")
        .containsIgnoringCase("connection: close");
    assertThat(budget.used()).isZero();
  }

  @Test
  void post_spoolUnavailable_isRejectedWithoutReadingBody() throws IOException {
    spool.spoolStatus = new Spool.SpoolStatus("away", null, 0, 0);
    fixture.admission().start();

    var response =
        rawPost("Content-Type: application/json\r\nContent-Length: 60000000\r\n", "{\"body\":");

    assertThat(response)
        .startsWith("HTTP/1.1 503 ")
        .containsIgnoringCase("retry-after: 1")
        .contains("/api/problems/spool-unavailable");
    assertThat(budget.released()).isZero(); // no memory was ever reserved
    assertThat(meters.get("sluice.ingest.shed").counter().count()).isEqualTo(1);
  }

  @Test
  void export_spoolUnavailable_isUnavailableWithRetryInfo() throws Exception {
    spool.spoolStatus = new Spool.SpoolStatus(null, "no append-only file", 0, 0);
    fixture.admission().start();
    var channel =
        ManagedChannelBuilder.forAddress("127.0.0.1", grpc.getPort()).usePlaintext().build();
    try {
      var logs = LogsServiceGrpc.newBlockingStub(channel);

      var failure =
          catchThrowableOfType(
              StatusRuntimeException.class, () -> logs.export(Otlp.request("away", "b")));

      assertThat(failure.getStatus().getCode()).isEqualTo(Status.Code.UNAVAILABLE);
      var details = StatusProto.fromThrowable(failure).getDetails(0).unpack(RetryInfo.class);
      assertThat(details.getRetryDelay().getSeconds()).isEqualTo(1);
      assertThat(spool.appendCalled).isFalse();
    } finally {
      channel.shutdownNow();
    }
  }

  /**
   * Logs whose response was sent still count, since an unavailable spool would otherwise fill the
   * heap.
   */
  @Test
  void post_ackAcceptedWhileSpoolBlocked_isAcceptedUntilMemoryIsFullThen503() {
    var statuses = new ArrayList<Integer>();
    for (int i = 0; i < 1_100; i++) {
      var response =
          Gateway.send(
              Gateway.postRequest(
                  URI.create("http://127.0.0.1:" + http.port() + "/api/v1/logs"),
                  "application/json",
                  "{\"body\":\"b\"}".getBytes(UTF_8),
                  "sluice-ack",
                  "accepted"),
              BodyHandlers.ofString());
      statuses.add(response.statusCode());
    }

    // each request counts for its logs and one kilobyte of overhead
    assertThat(statuses.indexOf(503)).isBetween(900, 1_023);
    assertThat(statuses.subList(0, statuses.indexOf(503))).containsOnly(202);
    assertThat(statuses.subList(statuses.indexOf(503), statuses.size())).contains(503);
    assertThat(budget.used()).isBetween((1L << 20) - 2048, 1L << 20);
    spool.appendResult.complete(new Spool.AppendResult.Accepted(new Spool.Receipt(0, "1")));
    await().until(() -> budget.used() == 0);
    assertThat(records("http-json", "accepted")).isEqualTo(statuses.indexOf(503));
  }

  /** A spool that completes appends on request of the test. */
  private static final class BlockedSpool implements Spool {
    private final CompletableFuture<AppendResult> appendResult = new CompletableFuture<>();
    private volatile boolean appendCalled;
    private volatile SpoolStatus spoolStatus = new SpoolStatus(null, null, 0, 0);

    @Override
    public CompletionStage<AppendResult> append(LogBatch batch, AppendMode appendMode) {
      appendCalled = true;
      return appendResult;
    }

    @Override
    public CompletionStage<SpoolStatus> status() {
      return CompletableFuture.completedFuture(spoolStatus);
    }
  }
}
