package dev.sluice.embeddings;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.sluice.query.port.Embedder.EmbedderUnavailableException;
import dev.sluice.query.port.Embedder.InvalidInputException;
import dev.sluice.query.port.Embedder.Model;
import dev.sluice.testkit.ManualClock;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Tests against a server with scripted responses. */
@Timeout(60)
class OpenAiEmbedderTest {
  private static final JsonMapper JSON = new JsonMapper();
  private static final Duration COOLDOWN = Duration.ofSeconds(30);

  /** A timeout that is longer than any test. */
  private static final Duration HALF_AN_HOUR = Duration.ofMinutes(30);

  private final Queue<ScriptedResponse> script = new ConcurrentLinkedQueue<>();
  private final List<JsonNode> requests = new CopyOnWriteArrayList<>();
  private final List<@Nullable String> keys = new CopyOnWriteArrayList<>();
  private final List<Duration> sleeps = new CopyOnWriteArrayList<>();
  private final ManualClock clock = new ManualClock("2026-01-01T00:00:00Z");
  private final ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor();

  /** The points at which responses of the server are stalled. */
  private final BlockingQueue<StallPoint> stalled = new LinkedBlockingQueue<>();

  private final CountDownLatch release = new CountDownLatch(1);
  private HttpServer server;

  private enum StallPoint {
    NONE,
    HEADERS,
    BODY
  }

  private record ScriptedResponse(int status, String body, StallPoint stallPoint) {
    ScriptedResponse(int status, String body) {
      this(status, body, StallPoint.NONE);
    }
  }

  @BeforeEach
  void start() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/v1/embeddings", this::respond);
    server.setExecutor(executor);
    server.start();
  }

  @AfterEach
  void stop() {
    release.countDown();
    server.stop(0);
    executor.close();
  }

  private void respond(HttpExchange exchange) throws IOException {
    requests.add(JSON.readTree(exchange.getRequestBody().readAllBytes()));
    keys.add(exchange.getRequestHeaders().getFirst("Authorization"));
    var scriptedResponse = script.remove();
    var body = scriptedResponse.body.getBytes(UTF_8);
    if (scriptedResponse.stallPoint == StallPoint.HEADERS) {
      stall(StallPoint.HEADERS);
    }
    exchange.sendResponseHeaders(scriptedResponse.status, body.length == 0 ? -1 : body.length);
    var out = exchange.getResponseBody();
    if (scriptedResponse.stallPoint == StallPoint.BODY) {
      out.write(body, 0, 1);
      out.flush();
      stall(StallPoint.BODY);
      out.write(body, 1, body.length - 1);
    } else {
      out.write(body);
    }
    exchange.close();
  }

  private void stall(StallPoint stallPoint) {
    stalled.add(stallPoint);
    try {
      release.await();
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  private OpenAiEmbedder embedder(@Nullable String key, int maxAttempts) {
    return embedder(key, maxAttempts, Duration.ofSeconds(10));
  }

  private OpenAiEmbedder embedder(@Nullable String key, int maxAttempts, Duration timeout) {
    var url = URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/v1");
    return new OpenAiEmbedder(
        new OpenAiSettings(url, new Model("small", 2), key, timeout, maxAttempts, COOLDOWN),
        clock,
        sleeps::add);
  }

  private static String vectors(String... each) {
    return "{\"data\":[%s]}".formatted(String.join(",", each));
  }

  private static String vector(int index, String numbers) {
    return "{\"index\":%d,\"embedding\":[%s]}".formatted(index, numbers);
  }

  @Test
  void embed_someTexts_haveTheirVectorsInOrderAndOfLengthOne() throws Exception {
    script.add(new ScriptedResponse(200, vectors(vector(1, "0,2"), vector(0, "3,4"))));

    try (var embedder = embedder("secret", 1)) {
      var embeddings = embedder.embed(List.of("a", ""));

      assertThat(embeddings.get(0).sentenceVector()).containsExactly(0.6f, 0.8f);
      assertThat(embeddings.get(1).sentenceVector()).containsExactly(0, 1);
      assertThat(embeddings.get(0).tokens()).isEmpty();
    }
    assertThat(requests.getFirst().path("model").asString()).isEqualTo("small");
    assertThat(requests.getFirst().path("input")).map(JsonNode::asString).containsExactly("a", " ");
    assertThat(keys).containsExactly("Bearer secret");
  }

  @Test
  void embed_noKey_sendsNone() throws Exception {
    script.add(new ScriptedResponse(200, vectors(vector(0, "1,0"))));

    try (var embedder = embedder(null, 1)) {
      embedder.embed(List.of("a"));
    }
    assertThat(keys).hasSize(1).containsOnlyNulls();
  }

  @Test
  void embed_transientFailure_isRetriedWithGrowingDelay() throws Exception {
    script.addAll(
        List.of(
            new ScriptedResponse(429, ""),
            new ScriptedResponse(503, ""),
            new ScriptedResponse(200, vectors(vector(0, "1,0")))));

    try (var embedder = embedder(null, 3)) {
      assertThat(embedder.embed(List.of("a"))).hasSize(1);
    }
    assertThat(sleeps).containsExactly(Duration.ofMillis(200), Duration.ofMillis(400));
  }

  @Test
  void embed_clientError_isNotRetried() {
    script.add(new ScriptedResponse(401, ""));

    try (var embedder = embedder("wrong", 3)) {
      assertThatThrownBy(() -> embedder.embed(List.of("a")))
          .isInstanceOf(EmbedderUnavailableException.class)
          .hasMessageContaining("status 401")
          .hasMessageNotContaining("wrong");
    }
    assertThat(requests).hasSize(1);
  }

  @Test
  void embed_invalidInput_isNotRetriedAndStartsNoCooldown() throws Exception {
    Stream.generate(() -> new ScriptedResponse(413, "")).limit(4).forEach(script::add);
    script.add(new ScriptedResponse(200, vectors(vector(0, "1,0"))));

    try (var embedder = embedder(null, 3)) {
      for (int i = 0; i < 4; i++) {
        assertThatThrownBy(() -> embedder.embed(List.of("a")))
            .isInstanceOf(InvalidInputException.class);
      }
      assertThat(embedder.embed(List.of("a"))).hasSize(1);
    }
  }

  @Test
  void embed_malformedResponses_areRejected() {
    var bad =
        List.of(
            "no json",
            vectors(vector(0, "1,0,0")),
            vectors(vector(7, "1,0")),
            vectors(),
            vectors(vector(0, "0,0")),
            vectors(vector(0, "1e39,0")),
            vectors(vector(0, "\"a\",0")),
            "{\"data\":7}",
            "{}");
    bad.forEach(body -> script.add(new ScriptedResponse(200, body)));

    for (var body : bad) {
      try (var embedder = embedder(null, 1)) {
        assertThatThrownBy(() -> embedder.embed(List.of("a")))
            .as(body)
            .isInstanceOf(EmbedderUnavailableException.class);
      }
    }
    assertThat(script).isEmpty();
  }

  @Test
  void embed_repeatedFailures_startCooldownThenProbe() throws Exception {
    Stream.generate(() -> new ScriptedResponse(500, "")).limit(3).forEach(script::add);
    script.add(new ScriptedResponse(200, vectors(vector(0, "1,0"))));

    try (var embedder = embedder(null, 1)) {
      for (int i = 0; i < 4; i++) {
        assertThatThrownBy(() -> embedder.embed(List.of("a")))
            .isInstanceOf(EmbedderUnavailableException.class);
      }
      assertThat(requests).hasSize(3);

      clock.advance(COOLDOWN);
      assertThat(embedder.embed(List.of("a"))).hasSize(1);
    }
  }

  /** Responses with vectors of another dimension, as from another model. */
  @Test
  void embed_repeatedMalformedResponses_startCooldown() {
    Stream.generate(() -> new ScriptedResponse(200, vectors(vector(0, "1,0,0"))))
        .limit(3)
        .forEach(script::add);

    try (var embedder = embedder(null, 1)) {
      for (int i = 0; i < 3; i++) {
        assertThatThrownBy(() -> embedder.embed(List.of("a")))
            .isInstanceOf(EmbedderUnavailableException.class);
      }
      assertInCooldown(embedder);
    }
  }

  private void failUntilCooldown(OpenAiEmbedder embedder) {
    Stream.generate(() -> new ScriptedResponse(500, "")).limit(3).forEach(script::add);
    for (int i = 0; i < 3; i++) {
      assertThatThrownBy(() -> embedder.embed(List.of("a")))
          .isInstanceOf(EmbedderUnavailableException.class);
    }
  }

  private void assertInCooldown(OpenAiEmbedder embedder) {
    int before = requests.size();
    assertThatThrownBy(() -> embedder.embed(List.of("a")))
        .isInstanceOf(EmbedderUnavailableException.class)
        .hasMessageContaining("no request until " + clock.instant().plus(COOLDOWN));
    assertThat(requests).hasSize(before);
  }

  @Test
  void embed_afterCooldown_isOneProbeWhileOthersAreUnavailable() throws Exception {
    try (var embedder = embedder(null, 1, HALF_AN_HOUR)) {
      failUntilCooldown(embedder);
      script.add(new ScriptedResponse(200, vectors(vector(0, "1,0")), StallPoint.HEADERS));
      Stream.generate(() -> new ScriptedResponse(200, vectors(vector(0, "1,0"))))
          .limit(2)
          .forEach(script::add);
      clock.advance(COOLDOWN);
      var probe = new FutureTask<>(() -> embedder.embed(List.of("a")));
      Thread.startVirtualThread(probe);
      stalled.take();

      assertInCooldown(embedder);

      release.countDown();
      assertThat(probe.get()).hasSize(1);
      assertThat(embedder.embed(List.of("a"))).hasSize(1);
      assertThat(embedder.embed(List.of("a"))).hasSize(1);
    }
  }

  @Test
  void embed_probeFails_startsCooldownAgain() throws Exception {
    try (var embedder = embedder(null, 1)) {
      failUntilCooldown(embedder);
      script.add(new ScriptedResponse(500, ""));
      script.add(new ScriptedResponse(200, vectors(vector(0, "1,0"))));
      clock.advance(COOLDOWN);
      assertThatThrownBy(() -> embedder.embed(List.of("a"))).hasMessageContaining("status 500");

      assertInCooldown(embedder);

      clock.advance(COOLDOWN);
      assertThat(embedder.embed(List.of("a"))).hasSize(1);
    }
  }

  @Test
  void embed_probeIsInterrupted_isRepeatedAfterAnotherCooldown() throws Exception {
    try (var embedder = embedder(null, 1, HALF_AN_HOUR)) {
      failUntilCooldown(embedder);
      script.add(new ScriptedResponse(200, vectors(vector(0, "1,0")), StallPoint.HEADERS));
      script.add(new ScriptedResponse(200, vectors(vector(0, "1,0"))));
      clock.advance(COOLDOWN);
      var probe = new FutureTask<>(() -> embedder.embed(List.of("a")));
      var thread = Thread.startVirtualThread(probe);
      stalled.take();
      thread.interrupt();
      assertThatThrownBy(probe::get).hasCauseInstanceOf(InterruptedException.class);

      assertInCooldown(embedder);

      clock.advance(COOLDOWN);
      assertThat(embedder.embed(List.of("a"))).hasSize(1);
    }
  }

  @Test
  void embed_probeIsRejected_endsCooldown() throws Exception {
    try (var embedder = embedder(null, 1)) {
      failUntilCooldown(embedder);
      script.add(new ScriptedResponse(400, ""));
      script.add(new ScriptedResponse(200, vectors(vector(0, "1,0"))));
      clock.advance(COOLDOWN);
      assertThatThrownBy(() -> embedder.embed(List.of("a")))
          .isInstanceOf(InvalidInputException.class);

      assertThat(embedder.embed(List.of("a"))).hasSize(1);
    }
  }

  @Test
  void embed_rejectionBetweenFailures_resetsTheFailureCount() throws Exception {
    for (int status : List.of(500, 500, 422, 500, 500)) {
      script.add(new ScriptedResponse(status, ""));
    }
    script.add(new ScriptedResponse(200, vectors(vector(0, "1,0"))));

    try (var embedder = embedder(null, 1)) {
      for (int i = 0; i < 5; i++) {
        assertThatThrownBy(() -> embedder.embed(List.of("a")))
            .hasMessageContaining(i == 2 ? "status 422" : "status 500");
      }
      assertThat(embedder.embed(List.of("a"))).hasSize(1);
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = StallPoint.class,
      names = {"HEADERS", "BODY"})
  void embed_stalledResponse_isUnavailable(StallPoint stallPoint) {
    script.add(new ScriptedResponse(200, vectors(vector(0, "1,0")), stallPoint));

    try (var embedder = embedder(null, 1, Duration.ofMillis(200))) {
      assertThatThrownBy(() -> embedder.embed(List.of("a")))
          .isInstanceOf(EmbedderUnavailableException.class);
    }
  }

  @Test
  void embed_manyTexts_areSentInSeveralRequests() throws Exception {
    var many = Stream.generate(() -> "text").limit(65).toList();
    script.add(
        new ScriptedResponse(
            200,
            vectors(
                IntStream.range(0, 64).mapToObj(i -> vector(i, "1,0")).toArray(String[]::new))));
    script.add(new ScriptedResponse(200, vectors(vector(0, "0,1"))));

    try (var embedder = embedder(null, 1)) {
      assertThat(embedder.embed(many).getLast().sentenceVector()).containsExactly(0, 1);
    }
  }

  @Test
  void probe_anyDimension_isReturned() throws Exception {
    script.add(new ScriptedResponse(200, vectors(vector(0, "1,0,0"))));
    for (var none :
        List.of(
            new ScriptedResponse(503, ""),
            new ScriptedResponse(401, ""),
            new ScriptedResponse(200, "{}"))) {
      script.add(none);
    }

    try (var embedder = embedder(null, 3)) {
      assertThat(embedder.probe()).hasValue(3);
      for (int i = 0; i < 3; i++) {
        assertThat(embedder.probe()).isEmpty();
      }
    }
    assertThat(sleeps).isEmpty();
  }

  @Test
  void embed_noServer_isUnavailable() {
    server.stop(0);

    try (var embedder = embedder(null, 2)) {
      assertThatThrownBy(() -> embedder.embed(List.of("a")))
          .isInstanceOf(EmbedderUnavailableException.class);
    }
    assertThat(sleeps).hasSize(1);
  }
}
