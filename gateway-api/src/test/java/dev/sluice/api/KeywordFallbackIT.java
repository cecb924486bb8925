package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.sun.net.httpserver.HttpServer;
import dev.sluice.proto.v1.Filter;
import dev.sluice.proto.v1.LogServiceGrpc;
import dev.sluice.proto.v1.SearchMode;
import dev.sluice.proto.v1.SearchRequest;
import dev.sluice.proto.v1.SearchResponse;
import io.grpc.ManagedChannelBuilder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * Checks that searches without a model fall back to keywords, and that the response has the reason.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class KeywordFallbackIT {
  private static final JsonMapper JSON = new JsonMapper();
  private static final String LEAK = "gasket of the northern pump is leaking";

  /** The reasons why no model is available. */
  enum ModelState {
    OFF,
    FAILING
  }

  private final String service = Gateway.service("without-meaning");
  private HttpServer endpoint;
  private Gateway off;
  private Gateway failing;

  @BeforeAll
  void start() throws IOException {
    endpoint = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    endpoint.createContext(
        "/v1/embeddings",
        exchange -> {
          exchange.getRequestBody().readAllBytes();
          exchange.sendResponseHeaders(500, -1);
          exchange.close();
        });
    endpoint.start();
    off = Gateway.ingestOnly("without-model", "--sluice.embeddings.enabled=false");
    failing =
        Gateway.ingestOnly(
            "without-endpoint",
            "--sluice.embeddings.url=" + url(),
            "--sluice.embeddings.model=failing",
            "--sluice.embeddings.max-attempts=1");
    var logs = JSON.createArrayNode();
    for (var body : new String[] {LEAK, "valve was oiled", "shift ends at noon"}) {
      logs.addObject().put("service", service).put("body", body);
    }
    assertThat(off.postLogs(logs.toString()).statusCode()).isEqualTo(202);
    Gateway.shared().awaitStored(service, 3);
  }

  @AfterAll
  void stop() {
    endpoint.stop(0);
  }

  private String url() {
    return "http://127.0.0.1:%d/v1".formatted(endpoint.getAddress().getPort());
  }

  private Gateway gateway(ModelState modelState) {
    return modelState == ModelState.OFF ? off : failing;
  }

  private String expectedReason(ModelState modelState) {
    return modelState == ModelState.OFF
        ? "sluice.embeddings.enabled is false"
        : "failing at " + url(); // followed by the error of the last call
  }

  private static JsonNode post(Gateway gateway, String path, ObjectNode request) {
    var body = request.put("query", "leaking gasket").toString().getBytes(UTF_8);
    var response = gateway.post(gateway.http(path), "application/json", body);
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    return Gateway.json(response);
  }

  private JsonNode search(Gateway gateway, String mode) {
    var request = JSON.createObjectNode().put("service", service).put("mode", mode);
    return post(gateway, "/api/v1/logs/search", request);
  }

  /** Template links and newest logs are cached for a moment. */
  private static void awaitFound(Runnable assertion) {
    await().atMost(Duration.ofMinutes(1)).untilAsserted(assertion::run);
  }

  private static String found(JsonNode response) {
    return response.path("templates").path(0).path("samples").path(0).path("body").asString("");
  }

  @ParameterizedTest
  @EnumSource
  void search_hybridOrSemantic_fallsBackToKeywordsWithReason(ModelState modelState) {
    for (var mode : new String[] {"hybrid", "semantic"}) {
      awaitFound(
          () -> {
            var response = search(gateway(modelState), mode);
            assertThat(found(response)).isEqualTo(LEAK);
            assertThat(response.path("without_meaning").asString(""))
                .startsWith(expectedReason(modelState));
          });
    }
  }

  @ParameterizedTest
  @EnumSource
  void search_keyword_hasNoFallbackReason(ModelState modelState) {
    awaitFound(
        () -> {
          var response = search(gateway(modelState), "keyword");
          assertThat(found(response)).isEqualTo(LEAK);
          assertThat(response.has("without_meaning")).isFalse();
        });
  }

  @ParameterizedTest
  @EnumSource
  void legacySearch_query_fallsBackToKeywordsWithReason(ModelState modelState) {
    awaitFound(
        () -> {
          var request = JSON.createObjectNode().put("app_id", service);
          var data = post(gateway(modelState), "/api/logs/search", request).path("data");
          assertThat(data.path("logs").path(0).path("message").asString("")).isEqualTo(LEAK);
          assertThat(data.path("metadata").path("without_meaning").asString(""))
              .startsWith(expectedReason(modelState));
        });
  }

  @ParameterizedTest
  @EnumSource
  void searchOverGrpc_anyMode_fallsBackToKeywordsWithReasonUnlessKeyword(ModelState modelState) {
    for (var mode :
        new SearchMode[] {
          SearchMode.SEARCH_MODE_HYBRID,
          SearchMode.SEARCH_MODE_SEMANTIC,
          SearchMode.SEARCH_MODE_KEYWORD
        }) {
      awaitFound(
          () -> {
            var response = searchOverGrpc(gateway(modelState), mode);
            assertThat(response.getTemplatesList()).isNotEmpty();
            assertThat(response.getTemplates(0).getSamples(0).getBody()).isEqualTo(LEAK);
            if (mode == SearchMode.SEARCH_MODE_KEYWORD) {
              assertThat(response.getWithoutMeaning()).isEmpty();
            } else {
              assertThat(response.getWithoutMeaning()).startsWith(expectedReason(modelState));
            }
          });
    }
  }

  private SearchResponse searchOverGrpc(Gateway gateway, SearchMode mode) {
    var channel =
        ManagedChannelBuilder.forAddress("127.0.0.1", gateway.grpcPort()).usePlaintext().build();
    try {
      return LogServiceGrpc.newBlockingStub(channel)
          .search(
              SearchRequest.newBuilder()
                  .setQuery("leaking gasket")
                  .setMode(mode)
                  .setFilter(Filter.newBuilder().setService(service))
                  .build());
    } finally {
      channel.shutdownNow();
    }
  }

  /** A gateway without the role deliver does not load a model to embed templates. */
  @Test
  void start_withoutDeliverRole_embedsNoTemplates() {
    assertThat(Gateway.shared().hasBean("embeddingsLifecycle")).isTrue();
    assertThat(failing.hasBean("embeddingsLifecycle")).isFalse();
  }
}
