package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.sluice.proto.v1.LogServiceGrpc;
import io.grpc.ManagedChannelBuilder;
import io.opentelemetry.proto.collector.logs.v1.LogsServiceGrpc;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** Tests the management port. */
class OperationsIT {
  private static final List<String> PROTOCOLS =
      List.of(
          "http-json",
          "http-ndjson",
          "http-protobuf",
          "grpc",
          "otlp-http-protobuf",
          "otlp-http-json",
          "otlp-grpc");

  private final Gateway gateway = Gateway.shared();

  private String text(String path) {
    var response = gateway.get(gateway.management(path));
    assertThat(response.statusCode()).as(path).isEqualTo(200);
    return response.body();
  }

  /** Returns all samples by name and labels. */
  private Map<String, Double> meters() {
    var meters = new TreeMap<String, Double>();
    text("/actuator/prometheus")
        .lines()
        .filter(line -> !line.startsWith("#"))
        .forEach(
            line -> {
              int end = line.lastIndexOf(' ');
              meters.put(line.substring(0, end), Double.valueOf(line.substring(end + 1)));
            });
    return meters;
  }

  private static String records(String protocol, String outcome) {
    return "sluice_ingest_records_total{outcome=\"%s\",protocol=\"%s\"}"
        .formatted(outcome, protocol);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/actuator/health",
        "/actuator/health/liveness",
        "/actuator/health/readiness",
      })
  void health_allUp_isUp(String path) {
    assertThat(Gateway.json(gateway.get(gateway.management(path))).get("status").asString())
        .isEqualTo("UP");
  }

  @Test
  void health_components_coverIngestAndDelivery() {
    var components =
        Gateway.json(gateway.get(gateway.management("/actuator/health"))).get("components");

    assertThat(components.get("spool").get("status").asString()).isEqualTo("UP");
    assertThat(components.get("clickhouse").get("status").asString()).isEqualTo("UP");
    var workers = components.get("delivery").get("details").get("workers").asInt();
    assertThat(workers).as("two workers for Redis, one for the fallback").isEqualTo(3);
  }

  @Test
  void actuator_onPublicPorts_isNotExposed() {
    assertThat(gateway.get(gateway.http("/actuator/health")).statusCode()).isEqualTo(404);
    assertThat(gateway.get(gateway.otlp("/actuator/health")).statusCode()).isEqualTo(404);
  }

  @Test
  void prometheus_everyProtocolUsed_countsByProtocolAndStageAddUp() {
    var service = Gateway.service("meters");
    var before = meters();

    sendOneGoodAndOneBad(service);
    gateway.awaitStored(service, PROTOCOLS.size());

    await()
        .atMost(Duration.ofSeconds(10))
        .until(() -> delivered(meters(), before) >= PROTOCOLS.size());
    var after = meters();
    for (var protocol : PROTOCOLS) {
      assertThat(increase(after, before, records(protocol, "received"))).isEqualTo(2);
      assertThat(increase(after, before, records(protocol, "accepted"))).isEqualTo(1);
      assertThat(increase(after, before, records(protocol, "rejected"))).isEqualTo(1);
      assertThat(after.get(records(protocol, "received")))
          .isEqualTo(
              after.get(records(protocol, "accepted"))
                  + after.get(records(protocol, "rejected"))
                  + after.get(records(protocol, "unavailable"))
                  + after.getOrDefault(records(protocol, "replayed"), 0.0)
                  + after.getOrDefault(records(protocol, "conflicting"), 0.0)
                  + after.getOrDefault(records(protocol, "lost"), 0.0));
      var label = "{protocol=\"" + protocol + "\"}";
      assertThat(increase(after, before, "sluice_ingest_bytes_total" + label)).isPositive();
      assertThat(after)
          .containsKeys(
              "sluice_ingest_malformed_total" + label,
              "sluice_ingest_unknown_fields_total" + label,
              "sluice_ingest_append_duration_seconds_count" + label);
    }
    assertThat(
            increase(after, before, "sluice_ingest_unknown_fields_total{protocol=\"http-json\"}"))
        .isEqualTo(1);
    assertThat(after.keySet())
        .contains(
            "sluice_delivery_records_total",
            "sluice_delivery_batch_records_count",
            "sluice_delivery_batch_entries_count",
            "sluice_delivery_insert_duration_seconds_count",
            "sluice_delivery_age_seconds_count",
            "sluice_delivery_retries_total{reason=\"store\"}",
            "sluice_delivery_dead_lettered_total",
            "sluice_delivery_paused{reason=\"schema\"}",
            "sluice_spool_entries",
            "sluice_spool_oldest_age_seconds",
            "sluice_ingest_in_flight_bytes");
    assertThat(after.get("sluice_ingest_in_flight_bytes")).isZero();
  }

  private static double increase(
      Map<String, Double> after, Map<String, Double> before, String sample) {
    return after.getOrDefault(sample, 0.0) - before.getOrDefault(sample, 0.0);
  }

  private static double delivered(Map<String, Double> after, Map<String, Double> before) {
    return increase(after, before, "sluice_delivery_records_total");
  }

  private void sendOneGoodAndOneBad(String service) {
    var good = "{\"service\":\"%s\",\"body\":\"b\",\"unknown\":1}".formatted(service);
    var bad = "{\"severity\":\"loud\"}";
    gateway.postLogs("[" + good + "," + bad + "]");
    gateway.post(
        gateway.http("/api/v1/logs"), "application/x-ndjson", (good + "\n" + bad).getBytes(UTF_8));
    var request =
        Otlp.request(
            service, Otlp.log("b"), Otlp.log("b").toBuilder().setSeverityNumberValue(99).build());
    gateway.post(gateway.otlp("/v1/logs"), "application/x-protobuf", request.toByteArray());
    var flat =
        NativeLog.request(
            NativeLog.log(service, "b"),
            NativeLog.log(service, "b").toBuilder().setSeverityNumber(99).build());
    gateway.post(gateway.http("/api/v1/logs"), "application/x-protobuf", flat.toByteArray());
    gateway.post(
        gateway.otlp("/v1/logs"),
        "application/json",
        """
        {"resourceLogs":[{"resource":{"attributes":[
          {"key":"service.name","value":{"stringValue":"%s"}}]},
          "scopeLogs":[{"logRecords":[{"body":{"stringValue":"b"}},{"severityNumber":99}]}]}]}"""
            .formatted(service)
            .getBytes(UTF_8));
    var channel =
        ManagedChannelBuilder.forAddress("127.0.0.1", gateway.grpcPort()).usePlaintext().build();
    try {
      var _ = LogsServiceGrpc.newBlockingStub(channel).export(request);
      var _ = LogServiceGrpc.newBlockingStub(channel).ingest(flat);
    } finally {
      channel.shutdownNow();
    }
  }

  @Test
  void ledger_afterIngest_balances() {
    var service = Gateway.service("ledger");
    long before = ledger().get("accepted").asLong();
    gateway.postLogs("{\"service\":\"%s\",\"body\":\"b\"}".formatted(service));

    await().atMost(Duration.ofSeconds(10)).until(() -> ledger().get("inFlight").asLong() == 0);

    var ledger = ledger();
    assertThat(ledger.get("accepted").asLong()).isEqualTo(before + 1);
    assertThat(ledger.get("stored").asLong()).isEqualTo(before + 1);
    assertThat(ledger.get("imbalance").asLong()).isZero();
  }

  private JsonNode ledger() {
    return Gateway.json(gateway.get(gateway.management("/actuator/ledger")));
  }
}
