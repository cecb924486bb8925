package dev.sluice.api.config;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import dev.sluice.query.port.Embedder;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.util.unit.DataSize;

class SearchConfigurationTest {
  private static final byte[] VECTOR_OF_THREE =
      "{\"data\":[{\"index\":0,\"embedding\":[1,0,0]}]}".getBytes(UTF_8);

  private final SearchConfiguration configuration = new SearchConfiguration();
  private HttpServer endpoint;

  @BeforeEach
  void serve() throws Exception {
    endpoint = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    endpoint.createContext(
        "/v1/embeddings",
        exchange -> {
          exchange.getRequestBody().readAllBytes();
          exchange.sendResponseHeaders(200, VECTOR_OF_THREE.length);
          try (var out = exchange.getResponseBody()) {
            out.write(VECTOR_OF_THREE);
          }
        });
    endpoint.start();
  }

  @AfterEach
  void stop() {
    endpoint.stop(0);
  }

  private String url() {
    return "http://127.0.0.1:%d/v1".formatted(endpoint.getAddress().getPort());
  }

  private static EmbeddingsProperties properties(
      boolean enabled, @Nullable String url, int dimension) {
    return new EmbeddingsProperties(
        enabled,
        Duration.ofSeconds(2),
        0.25,
        1,
        DataSize.ofMegabytes(1),
        url == null ? null : URI.create(url),
        "some-model",
        dimension,
        null,
        Duration.ofSeconds(10),
        1);
  }

  @Test
  void embedder_endpointOfAnotherDimension_failsTheStart() {
    assertThatThrownBy(() -> configuration.embedder(properties(true, url(), 4)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("sluice.embeddings.dimensions is 4")
        .hasMessageContaining("must be 3,");
  }

  @Test
  void embedder_endpointOfTheConfiguredDimension_isUsed() throws Exception {
    var embedder = configuration.embedder(properties(true, url(), 3));

    assertThat(embedder.model()).isEqualTo(new Embedder.Model("some-model", 3));
    assertThat(embedder.embed(List.of("a")).getFirst().sentenceVector()).containsExactly(1, 0, 0);
  }

  /** An endpoint that is unavailable at the start may be configured correctly. */
  @Test
  void embedder_endpointUnavailable_startsAnyway() throws Exception {
    endpoint.stop(0);

    var embedder = configuration.embedder(properties(true, url(), 4));

    assertThatThrownBy(() -> embedder.embed(List.of("a")))
        .isInstanceOf(Embedder.EmbedderUnavailableException.class);
  }

  @Test
  void embedder_disabled_isUnavailableWithTheReason() throws Exception {
    var embedder = configuration.embedder(properties(false, null, 1536));

    assertThatThrownBy(() -> embedder.embed(List.of("a")))
        .isInstanceOf(Embedder.EmbedderUnavailableException.class)
        .hasMessage("sluice.embeddings.enabled is false");
  }

  @Test
  void properties_invalidValues_areRejected() {
    for (var url : List.of("ftp://host/v1", "host", "http:///v1")) {
      assertThatThrownBy(() -> properties(true, url, 3))
          .isInstanceOf(IllegalArgumentException.class)
          .hasMessageContaining("sluice.embeddings.url");
    }
    assertThatThrownBy(() -> properties(true, null, 0))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("sluice.embeddings.dimensions");
  }
}
