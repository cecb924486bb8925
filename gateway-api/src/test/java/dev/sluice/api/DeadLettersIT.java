package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.net.URI;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Checks the life of a log that ClickHouse rejects, from the rejection to its replay or deletion.
 */
class DeadLettersIT {
  private static final Duration SOON = Duration.ofSeconds(30);
  private static final JsonMapper JSON = new JsonMapper();

  private final Gateway gateway = Gateway.isolated();
  private final String service = Gateway.service("poison");

  @BeforeEach
  void addPoisonConstraint() {
    gateway.postLogs(log("first log, for which the table is created"));
    gateway.awaitStored(service, 1);
    gateway.rows("ALTER TABLE otel_logs ADD CONSTRAINT no_poison CHECK Body NOT LIKE '%poison%'");
  }

  @AfterEach
  void dropPoisonConstraint() {
    gateway.rows("ALTER TABLE otel_logs DROP CONSTRAINT no_poison");
  }

  private String log(String body) {
    return "{\"service\":\"%s\",\"body\":\"%s\"}".formatted(service, body);
  }

  private URI at(String path) {
    return gateway.management("/actuator/deadletters" + path);
  }

  private JsonNode deadLetters() {
    return Gateway.json(gateway.get(at("")));
  }

  private String awaitDeadLetter() {
    await().atMost(SOON).until(() -> deadLetters().get("count").asInt() == 1);
    return deadLetters().get("deadLetters").get(0).get("id").asString();
  }

  private void awaitBalance() {
    await()
        .atMost(SOON)
        .untilAsserted(
            () -> {
              var ledger = Gateway.json(gateway.get(gateway.management("/actuator/ledger")));
              assertThat(ledger.get("imbalance").asLong()).as(ledger::toString).isZero();
              assertThat(ledger.get("inFlight").asLong()).isZero();
            });
  }

  @Test
  void poisonRecord_amongOthers_isDeadLetteredAndTheOthersAreStored() {
    var logs = new StringBuilder();
    for (int i = 0; i < 50; i++) {
      logs.append(log(i == 33 ? "poison" : "good " + i)).append('\n');
    }

    gateway.post(
        gateway.http("/api/v1/logs"), "application/x-ndjson", logs.toString().getBytes(UTF_8));

    gateway.awaitStored(service, 50);
    var id = awaitDeadLetter();
    var letter = Gateway.json(gateway.get(at("/" + id)));
    assertThat(letter.get("service").asString()).isEqualTo(service);
    assertThat(letter.get("reason").asString()).contains("469").doesNotContain("poison");
    assertThat(letter.get("log").toString()).contains("\"stringValue\":\"poison\"");
    assertThat(letter.get("code").asInt()).isEqualTo(469);
    assertThat(state(id)).isEqualTo("dead-lettered 0");
    awaitBalance();

    var log = letter.get("log").toString().replace("\"poison\"", "\"mended\"");
    var corrected = JSON.writeValueAsBytes(JSON.createObjectNode().put("log", log));
    var response = gateway.post(at("/" + id), "application/json", corrected);

    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    var stored = gateway.awaitStored(service, 51);
    assertThat(stored)
        .filteredOn(row -> row.get("Body").asString().equals("mended"))
        .singleElement()
        .satisfies(
            row ->
                assertThat(row.get("Id").asString())
                    .isEqualToIgnoringCase(letter.get("logId").asString()));
    assertThat(deadLetters().get("count").asInt()).isZero();
    assertThat(gateway.get(at("/" + id)).statusCode()).isEqualTo(404);
    assertThat(state(id)).isEqualTo("replayed 0");
    awaitBalance();
  }

  /** Returns the state of a dead letter in the table and the number of its replays. */
  private String state(String id) {
    var row =
        gateway
            .rows(
                "SELECT toString(State) AS state, Replays AS replays FROM log_dead_letters FINAL"
                    + " WHERE Id = unhex('%s')".formatted(id))
            .getFirst();
    return row.get("state").asString() + " " + row.get("replays").asInt();
  }

  /** Another gateway is killed in the replay, before the append or after it. */
  @Test
  void poisonRecord_replayInterrupted_canOnlyBeReplayedAndIsStoredOnce() {
    gateway.postLogs(log("poison"));
    var id = awaitDeadLetter();
    gateway.rows(
        "INSERT INTO log_dead_letters SELECT * REPLACE(2 AS Version) FROM log_dead_letters FINAL"
            + " WHERE Id = unhex('%s')".formatted(id));
    assertThat(deadLetters().get("deadLetters").get(0).get("replayStarted").asBoolean()).isTrue();
    assertThat(gateway.delete(at("/" + id)).statusCode()).isEqualTo(409);
    awaitBalance();

    var letter = Gateway.json(gateway.get(at("/" + id)));
    var log = letter.get("log").toString().replace("\"poison\"", "\"mended\"");
    var corrected = JSON.writeValueAsBytes(JSON.createObjectNode().put("log", log));
    for (int status : new int[] {200, 404}) {
      assertThat(gateway.post(at("/" + id), "application/json", corrected).statusCode())
          .isEqualTo(status);
    }

    gateway.awaitStored(service, 2);
    assertThat(state(id)).isEqualTo("replayed 0");
    awaitBalance();
  }

  @Test
  void poisonRecord_requeuedUnchanged_isDeadLetteredAgainAndCanBeDeleted() {
    gateway.postLogs(log("poison"));
    var id = awaitDeadLetter();

    assertThat(gateway.post(at("/" + id), "application/json", new byte[0]).statusCode())
        .isEqualTo(200);

    await().atMost(SOON).until(() -> state(id).equals("dead-lettered 1"));
    assertThat(awaitDeadLetter()).isEqualTo(id);
    awaitBalance();
    assertThat(gateway.delete(at("/" + id)).statusCode()).isEqualTo(200);
    assertThat(deadLetters().get("count").asInt()).isZero();
    assertThat(state(id)).isEqualTo("purged 1");
    awaitBalance();
  }
}
