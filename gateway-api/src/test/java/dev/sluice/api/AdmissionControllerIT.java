package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.lettuce.core.RedisClient;
import java.net.http.HttpResponse;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Checks the responses while Redis accepts writes but does not persist them. */
class AdmissionControllerIT {
  private static final Duration SOON = Duration.ofSeconds(30);

  private final Gateway gateway = Gateway.isolated();
  private final String service = Gateway.service("admission");
  private final RedisClient redis = RedisClient.create(gateway.redis().url());

  @BeforeEach
  void disableAppendOnlyFile() {
    set("appendonly", "no");
  }

  @AfterEach
  void enableAppendOnlyFile() {
    set("appendonly", "yes");
    redis.shutdown(Duration.ZERO, Duration.ofSeconds(2));
    await().atMost(SOON).until(() -> post("durable", "after").statusCode() == 202);
  }

  private void set(String parameter, String value) {
    try (var connection = redis.connect()) {
      connection.sync().configSet(parameter, value);
    }
  }

  private HttpResponse<String> post(String level, String body) {
    return gateway.post(
        gateway.http("/api/v1/logs"),
        "application/json",
        "{\"service\":\"%s\",\"body\":\"%s\"}".formatted(service, body).getBytes(UTF_8),
        "sluice-ack",
        level);
  }

  @Test
  void post_appendOnlyFileOff_onlyAckAcceptedSucceeds() {
    await().atMost(SOON).until(() -> post("durable", "lost").statusCode() == 503);

    for (var level : new String[] {"durable", "stored"}) {
      var refused = post(level, "lost");
      assertThat(refused.statusCode()).isEqualTo(503);
      assertThat(refused.headers().firstValueAsLong("Retry-After").orElse(0)).isBetween(1L, 60L);
      assertThat(refused.body()).doesNotContain("append");
    }
    var accepted = post("accepted", "kept");
    assertThat(accepted.statusCode()).isEqualTo(202);
    assertThat(Gateway.json(accepted).get("ack").asString()).isEqualTo("accepted");
    await()
        .atMost(SOON)
        .ignoreExceptions()
        .until(
            () ->
                gateway.storedRows(service).stream()
                    .anyMatch(row -> row.get("Body").asString().equals("kept")));
  }
}
