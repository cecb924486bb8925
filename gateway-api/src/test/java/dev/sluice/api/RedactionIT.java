package dev.sluice.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Checks that a gateway with redaction rules stores no sensitive value, in any protocol. */
class RedactionIT {
  private static final String CARDS = "sluice_redacted_values_total{rule=\"card\"}";

  @TempDir private static Path folder;
  private static Path rules;
  private static Gateway gateway;
  private static ManagedChannel channel;

  @BeforeAll
  static void start() throws IOException {
    rules = folder.resolve("redaction.yaml");
    Files.writeString(rules, "rules: [{detector: card, action: mask}]");
    gateway = Gateway.ingestOnly("redaction", "--sluice.redaction.rules-file=" + rules);
    channel =
        ManagedChannelBuilder.forAddress("127.0.0.1", gateway.grpcPort()).usePlaintext().build();
  }

  @AfterAll
  static void end() {
    channel.shutdownNow();
  }

  @Test
  void post_cardNumber_isMaskedInEveryProtocol() {
    var service = Gateway.service("redaction-all");
    var body = "paid with 4111 1111 1111 1111";
    double before = Double.isNaN(gateway.meter(CARDS)) ? 0 : gateway.meter(CARDS);
    var clients = ProtocolClients.http(gateway, service, body);

    clients.values().forEach(http -> assertThat(http.post(gateway).statusCode()).isLessThan(300));
    ProtocolClients.grpc(channel, service, body).forEach(Runnable::run);

    int logs = clients.size() + 3;
    assertThat(Gateway.shared().awaitStored(service, logs))
        .allSatisfy(
            log -> assertThat(log.toString()).contains("paid with [card]").doesNotContain("4111"));
    assertThat(gateway.meter(CARDS) - before).isEqualTo(logs);
  }

  @Test
  void post_changedRules_areInForce() throws IOException {
    var service = Gateway.service("redaction-reload");
    Files.writeString(
        rules,
        """
        rules:
          - {detector: card, action: mask}
          - {name: employee, pattern: 'EMP-[0-9]{6}', action: drop}
        """);
    await()
        .atMost(Duration.ofSeconds(30))
        .until(
            () -> {
              ProtocolClients.http(gateway, service, "by EMP-123456")
                  .get("http-json")
                  .post(gateway);
              return gateway.meter("sluice_redacted_values_total{rule=\"employee\"}") > 0;
            });
  }
}
