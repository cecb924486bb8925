package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Locale;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Checks that a gateway without the ingest role embeds templates and serves searches. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class DeliverRoleIT {
  private static final JsonMapper JSON = new JsonMapper();
  private static final String LEAK = "gasket of the northern pump is leaking";

  private final Gateway ingestGateway = Gateway.walOnly();
  private final String service = Gateway.service("deliver-role");
  private Gateway gateway;

  /**
   * Starts a gateway with its own model, so that vectors of other tests are not found. The endpoint
   * of the model is not stopped, since the gateway is not stopped either.
   */
  @BeforeAll
  void start() throws IOException {
    var endpoint = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    endpoint.createContext(
        "/v1/embeddings",
        exchange -> {
          var response = vectors(JSON.readTree(exchange.getRequestBody().readAllBytes()));
          exchange.sendResponseHeaders(200, response.length);
          try (var out = exchange.getResponseBody()) {
            out.write(response);
          }
        });
    endpoint.start();
    gateway =
        Gateway.sharingEngines(
            ingestGateway,
            "--sluice.roles=deliver",
            "--sluice.embeddings.url=http://127.0.0.1:%d/v1"
                .formatted(endpoint.getAddress().getPort()),
            "--sluice.embeddings.model=of-water",
            "--sluice.embeddings.dimensions=3");
  }

  /** Returns vectors in which texts about water differ from all other texts. */
  private static byte[] vectors(JsonNode request) {
    var response = JSON.createObjectNode();
    var data = response.putArray("data");
    for (var text : request.path("input")) {
      var vector = data.addObject().put("index", data.size() - 1).putArray("embedding");
      boolean water = text.asString().toLowerCase(Locale.ROOT).matches("(?s).*(leak|wet).*");
      vector.add(water ? 1 : 0).add(water ? 0 : 1).add(0);
    }
    return response.toString().getBytes(UTF_8);
  }

  @Test
  void search_logsIngestedByAnotherProcess_areEmbeddedAndFoundSemantically() {
    assertThat(gateway.postLogs("{\"body\":\"x\"}").statusCode()).isEqualTo(405);
    var logs = JSON.createArrayNode();
    for (var body : new String[] {"valve was oiled", LEAK, "shift ends at noon"}) {
      logs.addObject().put("service", service).put("body", body);
    }
    assertThat(ingestGateway.postLogs(logs.toString()).statusCode()).isEqualTo(202);

    await()
        .atMost(Duration.ofMinutes(2))
        .untilAsserted(
            () -> {
              var response = search();
              assertThat(response.path("templates")).hasSize(3);
              var first = response.path("templates").path(0);
              assertThat(first.path("samples").path(0).path("body").asString("")).isEqualTo(LEAK);
              assertThat(first.path("matched")).map(JsonNode::asString).containsExactly("meaning");
              assertThat(response.has("without_meaning")).isFalse();
            });
  }

  private JsonNode search() {
    var request = JSON.createObjectNode().put("query", "why is it wet").put("service", service);
    var response =
        gateway.post(
            gateway.http("/api/v1/logs/search"),
            "application/json",
            request.toString().getBytes(UTF_8));
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    return Gateway.json(response);
  }
}
