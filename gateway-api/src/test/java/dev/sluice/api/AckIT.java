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

/** Levels of acknowledgement by every way in, and what they are worth when an engine is away. */
class AckIT {
  private static final Duration SOON = Duration.ofSeconds(30);

  private final Gateway gateway = Gateway.shared();
  private final Gateway alone = Gateway.alone();
  private final ManagedChannel channel =
      ManagedChannelBuilder.forAddress("127.0.0.1", gateway.grpcPort()).usePlaintext().build();

  @AfterEach
  void giveBack() {
    channel.shutdownNow();
    if (!alone.redis().alive()) {
      alone.redis().restart();
    }
    if (!alone.clickHouse().alive()) {
      alone.clickHouse().restart();
    }
    await()
        .atMost(SOON)
        .until(() -> alone.get(alone.management("/actuator/health/readiness")).statusCode() == 200);
  }

  private static String log(String service, String body) {
    return "{\"service\":\"%s\",\"body\":\"%s\"}".formatted(service, body);
  }

  private HttpResponse<String> postAlone(String level, String log) {
    return alone.post(
        alone.http("/api/v1/logs"), "application/json", log.getBytes(UTF_8), "sluice-ack", level);
  }

  @ParameterizedTest
  @ValueSource(strings = {"accepted", "durable", "stored"})
  void http_anyEntrance_levelReachedIsEchoed(String level) {
    var service = Gateway.service("ack-http-" + level);
    var entrances = Entrances.http(gateway, service, "b");

    entrances.forEach(
        (name, entrance) -> {
          var response = entrance.post(gateway, "sluice-ack", level);
          assertThat(response.statusCode()).as(name).isIn(200, 202);
          assertThat(response.headers().firstValue("sluice-ack")).as(name).hasValue(level);
        });

    if (level.equals("stored")) {
      assertThat(gateway.count(service)).isEqualTo(entrances.size());
    }
    gateway.awaitStored(service, entrances.size());
  }

  @Test
  void http_anyEntrance_levelThatIsNoneIs400() {
    Entrances.http(gateway, Gateway.service("ack-none"), "b")
        .forEach(
            (name, entrance) ->
                assertThat(entrance.post(gateway, "sluice-ack", "safe").statusCode())
                    .as(name)
                    .isEqualTo(400));
  }

  @ParameterizedTest
  @ValueSource(strings = {"accepted", "durable", "stored"})
  void grpc_anyEntrance_levelReachedIsEchoed(String level) {
    var service = Gateway.service("ack-grpc-" + level);
    var headers = new AtomicReference<Metadata>();
    var calls =
        Entrances.grpc(Entrances.asking(channel, headers, "sluice-ack", level), service, "b");

    for (var call : calls) {
      call.run();
      assertThat(headers.get().get(Entrances.key("sluice-ack"))).isEqualTo(level);
    }

    if (level.equals("stored")) {
      assertThat(gateway.count(service)).isEqualTo(calls.size());
    }
    gateway.awaitStored(service, calls.size());
  }

  @Test
  void stream_storedAskedFor_eachAnswerComesWhenItsLogsAreThere() throws Exception {
    var service = Gateway.service("ack-stream");
    var answer = new CompletableFuture<IngestStreamResponse>();
    var stream =
        LogServiceGrpc.newStub(
                Entrances.asking(channel, new AtomicReference<>(), "sluice-ack", "stored"))
            .ingestStream(
                new StreamObserver<>() {
                  @Override
                  public void onNext(IngestStreamResponse value) {
                    answer.complete(value);
                  }

                  @Override
                  public void onError(Throwable t) {
                    answer.completeExceptionally(t);
                  }

                  @Override
                  public void onCompleted() {}
                });
    stream.onNext(
        IngestStreamRequest.newBuilder()
            .setSequence(7)
            .addLogs(NativeLog.log(service, "b"))
            .build());

    var told = answer.get(30, TimeUnit.SECONDS).getAccepted();

    assertThat(told.getAck()).isEqualTo(Ack.ACK_STORED);
    assertThat(told.getDeadLettered()).isZero();
    assertThat(gateway.count(service)).isEqualTo(1);
    stream.onCompleted();
  }

  /** To send again what is safe would be wrong: the answer is success and says what is known. */
  @Test
  void stored_clickHouseAway_isDurableInTheEnd() {
    var service = Gateway.service("ack-late");
    alone.clickHouse().stop();

    var response = postAlone("stored", log(service, "b"));

    assertThat(response.statusCode()).isEqualTo(202);
    assertThat(response.headers().firstValue("sluice-ack")).hasValue("durable");
    assertThat(Gateway.json(response).get("ack").asString()).isEqualTo("durable");
    alone.clickHouse().restart();
    alone.awaitStored(service, 1);
  }

  @Test
  void accepted_redisAway_isTakenAndStoredOnceItIsBack() {
    var service = Gateway.service("ack-memory");
    alone.redis().stop();
    await()
        .atMost(SOON)
        .until(() -> postAlone("durable", log(service, "refused")).statusCode() == 503);

    for (int i = 0; i < 20; i++) {
      var response = postAlone("accepted", log(service, "b" + i));
      assertThat(response.statusCode()).isEqualTo(202);
      assertThat(Gateway.json(response).get("ack").asString()).isEqualTo("accepted");
    }
    assertThat(alone.inFlight()).isGreaterThan(20 * 1024);
    alone.redis().restart();

    alone.awaitStored(service, 20);
    await().atMost(SOON).until(() -> alone.inFlight() == 0);
  }
}
