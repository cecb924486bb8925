package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.proto.v1.Ack;
import dev.sluice.proto.v1.IngestStreamRequest;
import dev.sluice.proto.v1.IngestStreamResponse;
import dev.sluice.proto.v1.LogServiceGrpc;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Metadata;
import io.grpc.stub.StreamObserver;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Checks the acknowledgement levels of every protocol, also while an engine is unavailable. */
class AckIT {
  private static final Duration SOON = Duration.ofSeconds(30);

  private final Gateway gateway = Gateway.shared();
  private final Gateway isolated = Gateway.isolated();
  private final ManagedChannel channel =
      ManagedChannelBuilder.forAddress("127.0.0.1", gateway.grpcPort()).usePlaintext().build();

  @AfterEach
  void restartEngines() {
    channel.shutdownNow();
    if (!isolated.redis().alive()) {
      isolated.redis().restart();
    }
    if (!isolated.clickHouse().alive()) {
      isolated.clickHouse().restart();
    }
    await()
        .atMost(SOON)
        .until(
            () ->
                isolated.get(isolated.management("/actuator/health/readiness")).statusCode()
                    == 200);
  }

  private static String log(String service, String body) {
    return "{\"service\":\"%s\",\"body\":\"%s\"}".formatted(service, body);
  }

  private HttpResponse<String> postIsolated(String level, String log) {
    return isolated.post(
        isolated.http("/api/v1/logs"),
        "application/json",
        log.getBytes(UTF_8),
        "sluice-ack",
        level);
  }

  @ParameterizedTest
  @ValueSource(strings = {"accepted", "durable", "stored"})
  void http_anyProtocol_echoesReachedLevel(String level) {
    var service = Gateway.service("ack-http-" + level);
    var clients = ProtocolClients.http(gateway, service, "b");

    clients.forEach(
        (name, client) -> {
          var response = client.post(gateway, "sluice-ack", level);
          assertThat(response.statusCode()).as(name).isIn(200, 202);
          assertThat(response.headers().firstValue("sluice-ack")).as(name).hasValue(level);
        });

    if (level.equals("stored")) {
      assertThat(gateway.count(service)).isEqualTo(clients.size());
    }
    gateway.awaitStored(service, clients.size());
  }

  @Test
  void http_anyProtocol_unknownLevelIs400() {
    ProtocolClients.http(gateway, Gateway.service("ack-none"), "b")
        .forEach(
            (name, client) ->
                assertThat(client.post(gateway, "sluice-ack", "safe").statusCode())
                    .as(name)
                    .isEqualTo(400));
  }

  @ParameterizedTest
  @ValueSource(strings = {"accepted", "durable", "stored"})
  void grpc_anyProtocol_echoesReachedLevel(String level) {
    var service = Gateway.service("ack-grpc-" + level);
    var headers = new AtomicReference<Metadata>();
    var calls =
        ProtocolClients.grpc(
            ProtocolClients.withMetadata(channel, headers, "sluice-ack", level), service, "b");

    for (var call : calls) {
      call.run();
      assertThat(headers.get().get(ProtocolClients.key("sluice-ack"))).isEqualTo(level);
    }

    if (level.equals("stored")) {
      assertThat(gateway.count(service)).isEqualTo(calls.size());
    }
    gateway.awaitStored(service, calls.size());
  }

  @Test
  void stream_storedRequested_eachResponseFollowsItsInsert() throws Exception {
    var service = Gateway.service("ack-stream");
    var futureResponse = new CompletableFuture<IngestStreamResponse>();
    var stream =
        LogServiceGrpc.newStub(
                ProtocolClients.withMetadata(
                    channel, new AtomicReference<>(), "sluice-ack", "stored"))
            .ingestStream(
                new StreamObserver<>() {
                  @Override
                  public void onNext(IngestStreamResponse value) {
                    futureResponse.complete(value);
                  }

                  @Override
                  public void onError(Throwable t) {
                    futureResponse.completeExceptionally(t);
                  }

                  @Override
                  public void onCompleted() {}
                });
    stream.onNext(
        IngestStreamRequest.newBuilder()
            .setSequence(7)
            .addLogs(NativeLog.log(service, "b"))
            .build());

    var response = futureResponse.get(30, TimeUnit.SECONDS).getAccepted();

    assertThat(response.getAck()).isEqualTo(Ack.ACK_STORED);
    assertThat(response.getDeadLettered()).isZero();
    assertThat(gateway.count(service)).isEqualTo(1);
    stream.onCompleted();
  }

  /**
   * The logs are already durable, so an error would cause a needless retry: the response is success
   * with the level that was reached.
   */
  @Test
  void stored_clickHouseDown_isDowngradedToDurable() {
    var service = Gateway.service("ack-late");
    isolated.clickHouse().stop();

    var response = postIsolated("stored", log(service, "b"));

    assertThat(response.statusCode()).isEqualTo(202);
    assertThat(response.headers().firstValue("sluice-ack")).hasValue("durable");
    assertThat(Gateway.json(response).get("ack").asString()).isEqualTo("durable");
    isolated.clickHouse().restart();
    isolated.awaitStored(service, 1);
  }

  @Test
  void accepted_redisDown_isAcceptedAndStoredAfterRecovery() {
    var service = Gateway.service("ack-memory");
    isolated.redis().stop();
    await()
        .atMost(SOON)
        .until(() -> postIsolated("durable", log(service, "refused")).statusCode() == 503);

    for (int i = 0; i < 20; i++) {
      var response = postIsolated("accepted", log(service, "b" + i));
      assertThat(response.statusCode()).isEqualTo(202);
      assertThat(Gateway.json(response).get("ack").asString()).isEqualTo("accepted");
    }
    assertThat(isolated.inFlight()).isGreaterThan(20 * 1024);
    isolated.redis().restart();

    isolated.awaitStored(service, 20);
    await().atMost(SOON).until(() -> isolated.inFlight() == 0);
  }
}
