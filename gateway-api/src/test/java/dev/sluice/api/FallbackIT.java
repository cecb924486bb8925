package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** A gateway with the role ingest delivers its write-ahead log, as no other process can. */
class FallbackIT {
  private final Gateway gateway = Gateway.ingestOnlyWithFallback();
  private final String service = Gateway.service("fallback");

  @Test
  void post_redisStopped_isStoredFromTheWalAndKnownAfterTheRecovery() {
    assertThat(post("a", "Idempotency-Key", "before").statusCode()).isEqualTo(202);
    gateway.redis().kill();

    assertThat(post("b", "Idempotency-Key", "during").statusCode()).isEqualTo(202);
    var stored = post("c", "sluice-ack", "stored");

    assertThat(stored.statusCode()).as(stored.body()).isEqualTo(202);
    assertThat(stored.headers().firstValue("sluice-ack")).contains("stored");
    assertThat(gateway.count(service)).isPositive();
    gateway.redis().restart();
    await()
        .atMost(Duration.ofSeconds(30))
        .until(() -> gateway.meter("sluice_failover_active") == 0);
    await()
        .atMost(Duration.ofSeconds(30))
        .until(() -> gateway.meter("sluice_wal_backlog_records") == 0);
    assertThat(isReplay(post("a", "Idempotency-Key", "before"))).isTrue();
    assertThat(isReplay(post("b", "Idempotency-Key", "during"))).isTrue();
    // the log of "before" is in the Redis of this gateway, which nothing delivers
    assertThat(gateway.storedRows(service))
        .extracting(row -> row.get("Body").asString())
        .containsExactly("b", "c");
  }

  private static boolean isReplay(HttpResponse<String> response) {
    return response.headers().firstValue("idempotency-replayed").equals(Optional.of("true"));
  }

  private HttpResponse<String> post(String body, String... headers) {
    return gateway.post(
        gateway.http("/api/v1/logs"),
        "application/json",
        "{\"service\":\"%s\",\"body\":\"%s\"}".formatted(service, body).getBytes(UTF_8),
        headers);
  }
}
