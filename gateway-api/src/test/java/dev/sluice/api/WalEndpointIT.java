package dev.sluice.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.net.http.HttpResponse;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** Tests {@code /actuator/wal} of a gateway whose only spool is the write-ahead log. */
class WalEndpointIT {
  private static final Duration SOON = Duration.ofSeconds(30);

  private final Gateway gateway = Gateway.walOnly();
  private final String service = Gateway.service("wal");

  private HttpResponse<String> wal(String path) {
    return gateway.get(gateway.management("/actuator/wal" + path));
  }

  private JsonNode status() {
    var response = wal("");
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    return Gateway.json(response);
  }

  private void post(int logs) {
    for (int i = 0; i < logs; i++) {
      var log = "{\"service\":\"%s\",\"body\":\"log %d\"}".formatted(service, i);
      assertThat(gateway.postLogs(log).statusCode()).isEqualTo(202);
    }
  }

  @Test
  void wal_someLogs_reportsThemAndTheirSegmentVerifies() {
    long frames = status().get("frames").asLong();

    post(3);

    var status = status();
    assertThat(status.get("frames").asLong()).isEqualTo(frames + 3);
    assertThat(status.get("bytes").asLong()).isPositive();
    assertThat(status.get("quarantined")).isEmpty();
    assertThat(status.get("skippedEntries").asInt()).isZero();
    assertThat(
            status.path("unavailableReason").isMissingNode()
                || status.get("unavailableReason").isNull())
        .isTrue();
    var segments = status.get("segments");
    var newest = segments.get(segments.size() - 1).get("file").asString();
    assertThat(newest).matches("\\d{4}-\\d\\d-\\d\\d/seg-\\d{6}\\.wal\\.zst");
    var verified = Gateway.json(wal("/" + newest.replaceFirst("\\.wal\\.zst$", "")));
    assertThat(verified.get("frames").asLong()).isPositive();
    assertThat(verified.get("records").asLong()).isGreaterThanOrEqualTo(3);
    assertThat(verified.get("faults")).isEmpty();
    assertThat(Gateway.json(wal("/" + newest))).isEqualTo(verified);
  }

  @Test
  void logs_appendedToWal_areDeliveredAndTheLedgerBalances() {
    post(3);

    assertThat(gateway.awaitStored(service, 3))
        .extracting(row -> row.get("Body").asString())
        .containsExactly("log 0", "log 1", "log 2");
    await()
        .atMost(SOON)
        .untilAsserted(() -> assertThat(status().at("/lag/entries").asLong()).isZero());
    await()
        .atMost(SOON)
        .ignoreExceptions()
        .untilAsserted(
            () -> {
              var ledger = Gateway.json(gateway.get(gateway.management("/actuator/ledger")));
              assertThat(ledger.get("accepted").asLong()).isGreaterThanOrEqualTo(3);
              assertThat(ledger.get("imbalance").asLong()).as(ledger::toString).isZero();
            });
  }

  @ParameterizedTest
  @ValueSource(strings = {"/2020-01-01/seg-000001", "/2020-01-01/1"})
  void verify_noSuchSegment_is404(String path) {
    var response = wal(path);

    assertThat(response.statusCode()).isEqualTo(404);
    assertThat(Gateway.json(response).get("reason").asString()).contains("no such segment");
  }

  @ParameterizedTest
  @ValueSource(strings = {"/2020-01-01/journal", "/2020-01-01/seg-", "/today/1", "/2020-13-01/1"})
  void verify_invalidName_is400(String path) {
    var response = wal(path);

    assertThat(response.statusCode()).isEqualTo(400);
    assertThat(Gateway.json(response).get("reason").asString()).isNotBlank();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "/2020-01-01/1"})
  void wal_gatewayWithoutWal_is404WithTheReason(String path) {
    var other = Gateway.isolated();

    var response = other.get(other.management("/actuator/wal" + path));

    assertThat(response.statusCode()).isEqualTo(404);
    assertThat(Gateway.json(response).get("reason").asString()).contains("sluice.spool is redis");
  }
}
