package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import com.google.rpc.RetryInfo;
import com.google.rpc.Status;
import dev.sluice.proto.v1.LogServiceGrpc;
import io.grpc.Channel;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.protobuf.StatusProto;
import io.opentelemetry.proto.collector.logs.v1.LogsServiceGrpc;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Checks the responses while the gateway cannot store durable logs, and after recovery. */
class RedisOutageIT {
  private static final Duration SOON = Duration.ofSeconds(30);

  private final Gateway gateway = Gateway.isolated();
  private final String service = Gateway.service("redis-away");

  @BeforeEach
  void stopRedis() {
    gateway.redis().stop();
  }

  @AfterEach
  void restartRedis() {
    gateway.redis().restart();
    await()
        .atMost(SOON)
        .untilAsserted(
            () -> {
              var readiness = readiness();
              assertThat(readiness.statusCode()).as(readiness.body()).isEqualTo(200);
            });
  }

  private HttpResponse<String> readiness() {
    return gateway.get(gateway.management("/actuator/health/readiness"));
  }

  private String log(String body) {
    return "{\"service\":\"%s\",\"body\":\"%s\"}".formatted(service, body);
  }

  @Test
  void post_redisDown_isUnavailableOnEveryProtocol() throws Exception {
    var nativeAnswer = gateway.postLogs(log("lost"));
    assertThat(nativeAnswer.statusCode()).isEqualTo(503);
    assertThat(nativeAnswer.headers().firstValueAsLong("Retry-After").orElse(0)).isPositive();
    assertThat(Gateway.json(nativeAnswer).get("retryAfterMs").asLong()).isPositive();

    var protobuf =
        Gateway.send(
            Gateway.postRequest(
                gateway.otlp("/v1/logs"),
                "application/x-protobuf",
                Otlp.request(service, "lost").toByteArray()),
            BodyHandlers.ofByteArray());
    assertThat(protobuf.statusCode()).isEqualTo(503);
    assertThat(protobuf.headers().firstValueAsLong("Retry-After").orElse(0)).isPositive();
    var status = Status.parseFrom(protobuf.body());
    assertThat(status.getCode()).isEqualTo(14);
    assertThat(status.getDetails(0).unpack(RetryInfo.class).hasRetryDelay()).isTrue();

    var json =
        gateway.post(
            gateway.http("/v1/logs"),
            "application/json",
            Otlp.everythingInJson(service).getBytes(UTF_8));
    assertThat(json.statusCode()).isEqualTo(503);
    assertThat(json.headers().firstValueAsLong("Retry-After").orElse(0)).isPositive();
    assertThat(Gateway.json(json).get("code").asInt()).isEqualTo(14);

    for (var failure : List.of(exportFailure(), ingestFailure())) {
      assertThat(failure.getStatus().getCode()).isEqualTo(io.grpc.Status.Code.UNAVAILABLE);
      var details = StatusProto.fromThrowable(failure).getDetails(0).unpack(RetryInfo.class);
      assertThat(details.getRetryDelay().getSeconds()).isPositive();
    }

    var appAnswer =
        gateway.post(
            gateway.http("/api/logs"),
            "application/json",
            "{\"app_id\":\"%s\",\"level\":\"INFO\",\"message\":\"lost\",\"source\":\"s\"}"
                .formatted(service)
                .getBytes(UTF_8));
    assertThat(appAnswer.statusCode()).isEqualTo(503);
    assertThat(appAnswer.headers().firstValueAsLong("Retry-After").orElse(0)).isPositive();
    assertThat(Gateway.json(appAnswer).get("success").asBoolean()).isFalse();

    assertThat(gateway.inFlight()).isZero();
  }

  private StatusRuntimeException exportFailure() {
    return failure(
        channel -> LogsServiceGrpc.newBlockingStub(channel).export(Otlp.request(service, "lost")));
  }

  private StatusRuntimeException ingestFailure() {
    return failure(
        channel ->
            LogServiceGrpc.newBlockingStub(channel)
                .ingest(NativeLog.request(NativeLog.log(service, "lost"))));
  }

  private StatusRuntimeException failure(Consumer<Channel> call) {
    var channel = channel();
    try {
      return catchThrowableOfType(StatusRuntimeException.class, () -> call.accept(channel));
    } finally {
      channel.shutdownNow();
    }
  }

  private ManagedChannel channel() {
    return ManagedChannelBuilder.forAddress("127.0.0.1", gateway.grpcPort()).usePlaintext().build();
  }

  @Test
  void grpcHealth_redisDown_isNotServing() {
    var channel = channel();
    try {
      var health = HealthGrpc.newBlockingStub(channel);
      for (var name : List.of("", "sluice.v1.LogService")) {
        var request = HealthCheckRequest.newBuilder().setService(name).build();
        await()
            .atMost(SOON)
            .until(() -> health.check(request).getStatus() == ServingStatus.NOT_SERVING);
      }
    } finally {
      channel.shutdownNow();
    }
  }

  /** Errors that are known from the headers are reported before the outage; bodies are not read. */
  @Test
  void post_invalidHeaders_isRejectedPermanentlyDuringOutage() {
    await().atMost(SOON).until(() -> gateway.postLogs("{\"body\":").statusCode() == 503);
    var body = log("lost").getBytes(UTF_8);
    var path = gateway.http("/api/v1/logs");
    assertThat(gateway.post(path, "text/plain", body).statusCode()).isEqualTo(415);
    assertThat(gateway.post(path, "application/json", body, "sluice-ack", "x").statusCode())
        .isEqualTo(400);
  }

  @Test
  void readiness_redisDown_isDownAndLivenessIsUp() {
    await().atMost(SOON).until(() -> readiness().statusCode() == 503);
    assertThat(gateway.get(gateway.management("/actuator/health/liveness")).statusCode())
        .isEqualTo(200);
  }

  @Test
  void post_afterRecovery_isAcceptedAndOnlyThatIsStored() {
    assertThat(gateway.postLogs(log("lost")).statusCode()).isEqualTo(503);

    gateway.redis().restart();

    await().atMost(SOON).until(() -> gateway.postLogs(log("kept")).statusCode() == 202);
    var row = gateway.awaitStored(service, 1).getFirst();
    assertThat(row.get("Body").asString()).isEqualTo("kept");
    await().atMost(SOON).until(() -> readiness().statusCode() == 200);
  }
}
