package dev.sluice.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.Range;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** Checks that the ledger shows manual changes of the spool and of the table. */
class LedgerIT {
  /** A slow count delays the next one, so that counting takes a small share of the time. */
  private static final Duration SOON = Duration.ofMinutes(3);

  private final Gateway gateway = Gateway.isolated();
  private final String service = Gateway.service("ledger");

  @AfterEach
  void restartClickHouse() {
    if (!gateway.clickHouse().alive()) {
      gateway.clickHouse().restart();
    }
  }

  @Test
  void ledger_entryDeletedAndRowDuplicatedManually_doesNotBalance() {
    post("stays");
    gateway.awaitStored(service, 1);
    awaitImbalance(0, 0);

    gateway.clickHouse().stop();
    post("is deleted");
    deleteEntries();
    gateway.clickHouse().restart();
    awaitImbalance(1, 1);

    copyRow("replacement"); // replaces the deleted log in the total
    awaitImbalance(0, 0);

    copyRow("duplicated");
    awaitImbalance(1, -1);

    gateway.rows(
        "ALTER TABLE otel_logs DELETE WHERE Body = 'duplicated' SETTINGS mutations_sync = 1");
    awaitImbalance(0, 0);
  }

  private void post(String body) {
    var log = "{\"service\":\"%s\",\"body\":\"%s\"}".formatted(service, body);
    assertThat(gateway.postLogs(log).statusCode()).isEqualTo(202);
  }

  private void awaitImbalance(long total, long ofTheDay) {
    await()
        .atMost(SOON)
        .ignoreExceptions()
        .untilAsserted(
            () -> {
              var ledger = ledger();
              assertThat(ledger.get("imbalance").asLong()).as(ledger::toString).isEqualTo(total);
              assertThat(gateway.meter("sluice_ledger_imbalance")).isEqualTo(total);
              var days = ledger.get("days");
              assertThat(days.get(days.size() - 1).get("imbalance").asLong()).isEqualTo(ofTheDay);
            });
  }

  private JsonNode ledger() {
    return Gateway.json(gateway.get(gateway.management("/actuator/ledger")));
  }

  private void deleteEntries() {
    var client = RedisClient.create(RedisURI.create(gateway.redis().url()));
    try (var redis = client.connect()) {
      var entries = redis.sync().xrange("{sluice:0}:logs", Range.unbounded());
      assertThat(entries).hasSize(1);
      assertThat(redis.sync().xdel("{sluice:0}:logs", entries.getFirst().getId())).isEqualTo(1);
    } finally {
      client.shutdown();
    }
  }

  private void copyRow(String body) {
    gateway.rows(
        """
        INSERT INTO otel_logs SELECT * REPLACE ('%s' AS Body)
        FROM otel_logs WHERE ServiceName = '%s' LIMIT 1"""
            .formatted(body, service));
  }
}
