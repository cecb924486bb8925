package dev.sluice.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import com.google.rpc.RetryInfo;
import dev.sluice.proto.v1.LogServiceGrpc;
import dev.sluice.proto.v1.QueryRequest;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.protobuf.StatusProto;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Checks that clients can send logs while ClickHouse is unavailable, and that no log is lost. */
class ClickHouseOutageIT {
  private static final Duration SOON = Duration.ofSeconds(30);

  private final Gateway gateway = Gateway.isolated();
  private final String service = Gateway.service("clickhouse-away");

  @BeforeEach
  void stopClickHouse() {
    gateway.postLogs(log("before"));
    gateway.awaitStored(service, 1);
    gateway.clickHouse().stop();
  }

  @AfterEach
  void restartClickHouse() {
    if (!gateway.clickHouse().alive()) {
      gateway.clickHouse().restart();
    }
  }

  private String log(String body) {
    return "{\"service\":\"%s\",\"body\":\"%s\"}".formatted(service, body);
  }

  private int status(String path) {
    return gateway.get(gateway.management(path)).statusCode();
  }

  @Test
  void post_clickHouseDown_isAcceptedAndStoredAfterRecovery() {
    double postponedBefore = retryCount();
    for (int i = 0; i < 20; i++) {
      assertThat(gateway.postLogs(log("during outage " + i)).statusCode()).isEqualTo(202);
    }
    await().atMost(SOON).until(() -> retryCount() > postponedBefore);
    assertThat(status("/actuator/health/readiness")).isEqualTo(200);
    assertThat(status("/actuator/health/liveness")).isEqualTo(200);

    gateway.clickHouse().restart();

    gateway.awaitStored(service, 21);
    await()
        .atMost(SOON)
        .untilAsserted(() -> assertThat(ledger()).contains("\"inFlight\":0", "\"imbalance\":0"));
  }

  private double retryCount() {
    return gateway
        .get(gateway.management("/actuator/prometheus"))
        .body()
        .lines()
        .filter(line -> line.startsWith("sluice_delivery_retries_total"))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
        .sum();
  }

  private String ledger() {
    return gateway.get(gateway.management("/actuator/ledger")).body();
  }

  @Test
  void get_clickHouseDown_is503WithRetryAfter() {
    var response = gateway.get(gateway.http("/api/v1/logs?service=" + service));

    assertThat(response.statusCode()).isEqualTo(503);
    assertThat(response.headers().firstValueAsLong("Retry-After").orElse(0)).isPositive();
    assertThat(Gateway.json(response).get("detail").asString()).contains("cannot be read");
    assertThat(response.body()).doesNotContain("Exception", "SELECT", "127.0.0.1");
  }

  @Test
  void legacyGet_clickHouseDown_is503InLegacyFormat() {
    var response = gateway.get(gateway.http("/api/logs/" + service));

    assertThat(response.statusCode()).isEqualTo(503);
    assertThat(response.headers().firstValueAsLong("Retry-After").orElse(0)).isPositive();
    assertThat(response.body())
        .isEqualTo("{\"success\":false,\"message\":\"logs cannot be read at the moment\"}");
  }

  @Test
  void query_clickHouseDown_isUnavailableWithRetryInfoAndHealthIsServing() throws Exception {
    var channel =
        ManagedChannelBuilder.forAddress("127.0.0.1", gateway.grpcPort()).usePlaintext().build();
    try {
      // the query must not use a health status from before the outage
      await().atMost(SOON).until(() -> status("/actuator/health") == 503);
      var logs = LogServiceGrpc.newBlockingStub(channel);
      var failure =
          catchThrowableOfType(
              StatusRuntimeException.class, () -> logs.query(QueryRequest.getDefaultInstance()));

      assertThat(failure.getStatus().getCode()).isEqualTo(Status.Code.UNAVAILABLE);
      assertThat(failure.getStatus().getDescription())
          .isEqualTo("logs cannot be read at the moment");
      var details = StatusProto.fromThrowable(failure).getDetails(0).unpack(RetryInfo.class);
      assertThat(details.getRetryDelay().getSeconds()).isPositive();
      var health = HealthGrpc.newBlockingStub(channel);
      await()
          .during(Duration.ofSeconds(5)) // the status is polled every two seconds
          .atMost(SOON)
          .until(
              () ->
                  health.check(HealthCheckRequest.getDefaultInstance()).getStatus()
                      == ServingStatus.SERVING);
    } finally {
      channel.shutdownNow();
    }
  }

  @Test
  void ledger_clickHouseDown_is503WithKnownCounts() {
    gateway.postLogs(log("during outage"));

    var response = gateway.get(gateway.management("/actuator/ledger"));

    assertThat(response.statusCode()).isEqualTo(503);
    var ledger = Gateway.json(response);
    assertThat(ledger.get("accepted").asLong()).isPositive();
    assertThat(ledger.get("inFlight").asLong()).isPositive();
    assertThat(ledger.get("stored").isNull()).isTrue();
    assertThat(ledger.get("imbalance").isNull()).isTrue();
    assertThat(ledger.get("unavailableSources").get("store").asString()).isNotBlank();
  }
}
