package dev.sluice.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** Checks the dictionary endpoint, and custom masks that are added at run time. */
class DictionaryIT {
  private static final Duration SOON = Duration.ofSeconds(10);

  private final Gateway gateway = Gateway.walOnly();

  @AfterEach
  void noMasks() throws IOException {
    Files.writeString(gateway.customMasksFile(), "");
    awaitMasks(0);
  }

  private JsonNode dictionary() {
    var response = gateway.get(gateway.management("/actuator/dictionary"));
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    return Gateway.json(response);
  }

  private void awaitMasks(int masks) {
    await().atMost(SOON).until(() -> dictionary().at("/templates/customMasks").asInt() == masks);
  }

  private void post(String service, String body) {
    var log = "{\"service\":\"%s\",\"body\":\"%s\"}".formatted(service, body);
    assertThat(gateway.postLogs(log).statusCode()).isEqualTo(202);
  }

  /** Returns the template texts of the logs of a service, sorted by body. */
  private List<String> templates(String service, int logs) {
    gateway.awaitStored(service, logs);
    return gateway
        .rows(
            """
            SELECT Body, any(Text) AS Template FROM otel_logs
            JOIN log_templates USING (Tenant, TemplateId)
            WHERE ServiceName = '%s' GROUP BY Body, otel_logs.Id ORDER BY Body"""
                .formatted(service))
        .stream()
        .map(row -> row.get("Template").asString())
        .toList();
  }

  private double meter(String sample) {
    return gateway.meter("sluice_" + sample);
  }

  @Test
  void dictionary_logsOfOneMessage_missOnceThenHitTheCache() {
    var service = Gateway.service("dictionary");
    var before = dictionary();

    for (int i = 1; i <= 3; i++) {
      post(service, "nothing has changed");
      gateway.awaitStored(service, i);
    }

    var after = dictionary();
    assertThat(after.at("/templates/enabled").asBoolean()).isTrue();
    assertThat(after.at("/templates/sync").isObject()).isTrue();
    assertThat(after.at("/templates/sync/error").isNull()).isTrue();
    assertThat(after.at("/templates/count").asLong()).isPositive();
    assertThat(after.at("/templates/bytes").asLong()).isPositive();
    assertThat(after.at("/cache/capacity").asLong()).isEqualTo(1 << 20);
    assertThat(after.at("/cache/bytes").asLong()).isEqualTo(32 << 20);
    for (var figure : List.of("lookups/none", "entries", "written")) {
      assertThat(increase(figure, after, before)).as(figure).isPositive();
    }
    assertThat(increase("lookups/worker", after, before)).isGreaterThanOrEqualTo(2);
    assertThat(after.at("/cache/failed").asLong()).isZero();
  }

  private static long increase(String figure, JsonNode after, JsonNode before) {
    return after.at("/cache/" + figure).asLong() - before.at("/cache/" + figure).asLong();
  }

  @Test
  void metrics_idle_matchTheEndpoint() {
    post(Gateway.service("dictionary"), "it is up");

    await()
        .atMost(SOON)
        .untilAsserted(
            () -> {
              var response = dictionary();
              for (var tier : List.of("worker", "pending", "shared", "none")) {
                assertThat(meter("dictionary_lookups_total{tier=\"" + tier + "\"}"))
                    .isEqualTo(response.at("/cache/lookups/" + tier).asDouble());
              }
              assertThat(meter("dictionary_digests_total"))
                  .isEqualTo(response.at("/cache/digests").asDouble());
              assertThat(meter("dictionary_entries_written_total"))
                  .isEqualTo(response.at("/cache/written").asDouble());
              assertThat(meter("dictionary_writes_failed_total"))
                  .isEqualTo(response.at("/cache/failed").asDouble());
              assertThat(meter("dictionary_cache_entries"))
                  .isEqualTo(response.at("/cache/entries").asDouble())
                  .isPositive();
              assertThat(meter("templates_count"))
                  .isEqualTo(response.at("/templates/count").asDouble())
                  .isPositive();
              assertThat(meter("templates_memory_bytes"))
                  .isEqualTo(response.at("/templates/bytes").asDouble())
                  .isPositive();
              assertThat(meter("templates_overflow_total"))
                  .isEqualTo(response.at("/templates/overflow").asDouble());
              assertThat(meter("templates_masks_budget_exceeded_total"))
                  .isEqualTo(response.at("/templates/masksBudgetExceeded").asDouble());
            });
  }

  @Test
  void dictionary_processThatDoesNotDeliver_is404WithTheReason() {
    var other = Gateway.ingestOnly("dictionary");

    var response = other.get(other.management("/actuator/dictionary"));

    assertThat(response.statusCode()).isEqualTo(404);
    assertThat(Gateway.json(response).get("reason").asString()).contains("sluice.roles");
    assertThat(other.meter("sluice_templates_count")).isNaN();
  }

  @Test
  void customMasks_added_changeTemplatesOfTheirServiceOnly() throws IOException {
    var shop = Gateway.service("masks of the shop");
    var bank = Gateway.service("masks");
    for (var service : List.of(shop, bank)) {
      post(service, "1 the plan platinum is chosen");
      assertThat(templates(service, 1)).containsExactly("<*> the plan platinum is chosen");
    }

    Files.writeString(gateway.customMasksFile(), "# plans\n" + shop + " /gold|platinum/\n");
    awaitMasks(1);

    for (var service : List.of(shop, bank)) {
      post(service, "2 the plan platinum is chosen");
    }
    assertThat(templates(shop, 2))
        .containsExactly("<*> the plan platinum is chosen", "<*> the plan <*> is chosen");
    assertThat(templates(bank, 2))
        .containsExactly("<*> the plan platinum is chosen", "<*> the plan platinum is chosen");
  }

  @Test
  void customMask_backtrackingPattern_exceedsBudgetAndIsCounted() throws IOException {
    var service = Gateway.service("masks");
    Files.writeString(gateway.customMasksFile(), "* /(?:[a-z ]+)+!/\n");
    awaitMasks(1);

    post(service, "never ending story ".repeat(100));
    gateway.awaitStored(service, 1);

    assertThat(dictionary().at("/templates/masksBudgetExceeded").asLong()).isPositive();
  }

  @Test
  void start_invalidMask_failsNamingTheSettingAndTheLine(@TempDir Path folder) throws IOException {
    var masks = Files.writeString(folder.resolve("masks.txt"), "# plans\n* /gold|(/\n");

    assertThatThrownBy(
            () -> Gateway.sharingEngines(gateway, "--sluice.templates.custom-masks-file=" + masks))
        .hasStackTraceContaining(
            "sluice.templates.custom-masks-file is "
                + masks
                + ": line 2 is not a regular expression:");
  }
}
