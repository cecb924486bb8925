package dev.sluice.embeddings;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.sluice.core.port.Embedder.EmbedderUnavailableException;
import dev.sluice.core.port.Embedder.InvalidInputException;
import dev.sluice.core.port.Embedder.Model;
import dev.sluice.testkit.HandClock;
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

/** Against a server that answers from a script. */
@Timeout(60)
class EndpointEmbedderTest {
  private static final JsonMapper JSON = new JsonMapper();
  private static final Duration REST = Duration.ofSeconds(30);

  /** Longer than any test runs. */
  private static final Duration HALF_AN_HOUR = Duration.ofMinutes(30);

  private final Queue<Answer> script = new ConcurrentLinkedQueue<>();
  private final List<JsonNode> asked = new CopyOnWriteArrayList<>();
  private final List<@Nullable String> keys = new CopyOnWriteArrayList<>();
  private final List<Duration> pauses = new CopyOnWriteArrayList<>();
  private final HandClock clock = new HandClock("2026-01-01T00:00:00Z");
  private final ExecutorService answering = Executors.newVirtualThreadPerTaskExecutor();

  /** Whoever is kept waiting. */
  private final BlockingQueue<Hold> held = new LinkedBlockingQueue<>();

  private final CountDownLatch end = new CountDownLatch(1);
  private HttpServer server;

  private enum Hold {
    NOTHING,
    HEADERS,
    BODY
  }

  private record Answer(int status, String body, Hold hold) {
    Answer(int status, String body) {
      this(status, body, Hold.NOTHING);
    }
  }

  @BeforeEach
  void start() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/v1/embeddings", this::answer);
    server.setExecutor(answering);
    server.start();
  }

  @AfterEach
  void stop() {
    end.countDown();
    server.stop(0);
    answering.close();
  }

  private void answer(HttpExchange exchange) throws IOException {
    asked.add(JSON.readTree(exchange.getRequestBody().readAllBytes()));
    keys.add(exchange.getRequestHeaders().getFirst("Authorization"));
    var answer = script.remove();
    var body = answer.body.getBytes(UTF_8);
    if (answer.hold == Hold.HEADERS) {
      hold(Hold.HEADERS);
    }
    exchange.sendResponseHeaders(answer.status, body.length == 0 ? -1 : body.length);
    var out = exchange.getResponseBody();
    if (answer.hold == Hold.BODY) {
      out.write(body, 0, 1);
      out.flush();
      hold(Hold.BODY);
      out.write(body, 1, body.length - 1);
    } else {
      out.write(body);
    }
    exchange.close();
  }

  private void hold(Hold where) {
    held.add(where);
    try {
      end.await();
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  private EndpointEmbedder embedder(@Nullable String key, int tries) {
    return embedder(key, tries, Duration.ofSeconds(10));
  }

  private EndpointEmbedder embedder(@Nullable String key, int tries, Duration timeout) {
    var url = URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/v1");
    return new EndpointEmbedder(
        new EndpointSettings(url, new Model("small", 2), key, timeout, tries, REST),
        clock,
        pauses::add);
  }

  private static String vectors(String... each) {
    return "{\"data\":[%s]}".formatted(String.join(",", each));
  }

  private static String vector(int index, String numbers) {
    return "{\"index\":%d,\"embedding\":[%s]}".formatted(index, numbers);
  }

  @Test
  void embed_someTexts_haveTheirVectorsInOrderAndOfLengthOne() throws Exception {
    script.add(new Answer(200, vectors(vector(1, "0,2"), vector(0, "3,4"))));

    try (var embedder = embedder("secret", 1)) {
      var embeddings = embedder.embed(List.of("a", ""));

      assertThat(embeddings.get(0).sentenceVector()).containsExactly(0.6f, 0.8f);
      assertThat(embeddings.get(1).sentenceVector()).containsExactly(0, 1);
      assertThat(embeddings.get(0).tokens()).isEmpty();
    }
    assertThat(asked.getFirst().path("model").asString()).isEqualTo("small");
    assertThat(asked.getFirst().path("input")).map(JsonNode::asString).containsExactly("a", " ");
    assertThat(keys).containsExactly("Bearer secret");
  }

  @Test
  void embed_noKey_sendsNone() throws Exception {
    script.add(new Answer(200, vectors(vector(0, "1,0"))));

    try (var embedder = embedder(null, 1)) {
      embedder.embed(List.of("a"));
    }
    assertThat(keys).hasSize(1).containsOnlyNulls();
  }

  @Test
  void embed_whatPasses_isTriedAgainLaterAndLater() throws Exception {
    script.addAll(
        List.of(
            new Answer(429, ""), new Answer(503, ""), new Answer(200, vectors(vector(0, "1,0")))));

    try (var embedder = embedder(null, 3)) {
      assertThat(embedder.embed(List.of("a"))).hasSize(1);
    }
    assertThat(pauses).containsExactly(Duration.ofMillis(200), Duration.ofMillis(400));
  }

  @Test
  void embed_aMistakeOfOurs_isNotTriedAgain() {
    script.add(new Answer(401, ""));

    try (var embedder = embedder("wrong", 3)) {
      assertThatThrownBy(() -> embedder.embed(List.of("a")))
          .isInstanceOf(EmbedderUnavailableException.class)
          .hasMessageContaining("status 401")
          .hasMessageNotContaining("wrong");
    }
    assertThat(asked).hasSize(1);
  }

  @Test
  void embed_aTextItDoesNotTake_isRefusedForGoodAndNoReasonToRest() throws Exception {
    Stream.generate(() -> new Answer(413, "")).limit(4).forEach(script::add);
    script.add(new Answer(200, vectors(vector(0, "1,0"))));

    try (var embedder = embedder(null, 3)) {
      for (int i = 0; i < 4; i++) {
        assertThatThrownBy(() -> embedder.embed(List.of("a")))
            .isInstanceOf(InvalidInputException.class);
      }
      assertThat(embedder.embed(List.of("a"))).hasSize(1);
    }
  }

  @Test
  void embed_answersThatAreNone_areRefused() {
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
    bad.forEach(body -> script.add(new Answer(200, body)));

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
  void embed_failsAgainAndAgain_restsAndThenAsksAgain() throws Exception {
    Stream.generate(() -> new Answer(500, "")).limit(3).forEach(script::add);
    script.add(new Answer(200, vectors(vector(0, "1,0"))));

    try (var embedder = embedder(null, 1)) {
      for (int i = 0; i < 4; i++) {
        assertThatThrownBy(() -> embedder.embed(List.of("a")))
            .isInstanceOf(EmbedderUnavailableException.class);
      }
      assertThat(asked).hasSize(3);

      clock.advance(REST);
      assertThat(embedder.embed(List.of("a"))).hasSize(1);
    }
  }

  /** Such as those of another model. */
  @Test
  void embed_answersThatAreNoneAgainAndAgain_areAReasonToRest() {
    Stream.generate(() -> new Answer(200, vectors(vector(0, "1,0,0"))))
        .limit(3)
        .forEach(script::add);

    try (var embedder = embedder(null, 1)) {
      for (int i = 0; i < 3; i++) {
        assertThatThrownBy(() -> embedder.embed(List.of("a")))
            .isInstanceOf(EmbedderUnavailableException.class);
      }
      assertRests(embedder);
    }
  }

  private void rest(EndpointEmbedder embedder) {
    Stream.generate(() -> new Answer(500, "")).limit(3).forEach(script::add);
    for (int i = 0; i < 3; i++) {
      assertThatThrownBy(() -> embedder.embed(List.of("a")))
          .isInstanceOf(EmbedderUnavailableException.class);
    }
  }

  private void assertRests(EndpointEmbedder embedder) {
    int before = asked.size();
    assertThatThrownBy(() -> embedder.embed(List.of("a")))
        .isInstanceOf(EmbedderUnavailableException.class)
        .hasMessageContaining("is asked again at " + clock.instant().plus(REST));
    assertThat(asked).hasSize(before);
  }

  @Test
  void embed_afterTheRest_isOneTrialWhileOthersAreRefused() throws Exception {
    try (var embedder = embedder(null, 1, HALF_AN_HOUR)) {
      rest(embedder);
      script.add(new Answer(200, vectors(vector(0, "1,0")), Hold.HEADERS));
      Stream.generate(() -> new Answer(200, vectors(vector(0, "1,0"))))
          .limit(2)
          .forEach(script::add);
      clock.advance(REST);
      var trial = new FutureTask<>(() -> embedder.embed(List.of("a")));
      Thread.startVirtualThread(trial);
      held.take();

      assertRests(embedder);

      end.countDown();
      assertThat(trial.get()).hasSize(1);
      assertThat(embedder.embed(List.of("a"))).hasSize(1);
      assertThat(embedder.embed(List.of("a"))).hasSize(1);
    }
  }

  @Test
  void embed_theTrialFails_restsAgain() throws Exception {
    try (var embedder = embedder(null, 1)) {
      rest(embedder);
      script.add(new Answer(500, ""));
      script.add(new Answer(200, vectors(vector(0, "1,0"))));
      clock.advance(REST);
      assertThatThrownBy(() -> embedder.embed(List.of("a"))).hasMessageContaining("status 500");

      assertRests(embedder);

      clock.advance(REST);
      assertThat(embedder.embed(List.of("a"))).hasSize(1);
    }
  }

  @Test
  void embed_theTrialIsInterrupted_isTriedAgainAfterAnotherRest() throws Exception {
    try (var embedder = embedder(null, 1, HALF_AN_HOUR)) {
      rest(embedder);
      script.add(new Answer(200, vectors(vector(0, "1,0")), Hold.HEADERS));
      script.add(new Answer(200, vectors(vector(0, "1,0"))));
      clock.advance(REST);
      var trial = new FutureTask<>(() -> embedder.embed(List.of("a")));
      var thread = Thread.startVirtualThread(trial);
      held.take();
      thread.interrupt();
      assertThatThrownBy(trial::get).hasCauseInstanceOf(InterruptedException.class);

      assertRests(embedder);

      clock.advance(REST);
      assertThat(embedder.embed(List.of("a"))).hasSize(1);
    }
  }

  @Test
  void embed_theTrialIsRefused_isBack() throws Exception {
    try (var embedder = embedder(null, 1)) {
      rest(embedder);
      script.add(new Answer(400, ""));
      script.add(new Answer(200, vectors(vector(0, "1,0"))));
      clock.advance(REST);
      assertThatThrownBy(() -> embedder.embed(List.of("a")))
          .isInstanceOf(InvalidInputException.class);

      assertThat(embedder.embed(List.of("a"))).hasSize(1);
    }
  }

  @Test
  void embed_aRefusalBetweenFailures_countsAsAnAnswer() throws Exception {
    for (int status : List.of(500, 500, 422, 500, 500)) {
      script.add(new Answer(status, ""));
    }
    script.add(new Answer(200, vectors(vector(0, "1,0"))));

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
      value = Hold.class,
      names = {"HEADERS", "BODY"})
  void embed_anAnswerThatHangs_isUnavailable(Hold where) {
    script.add(new Answer(200, vectors(vector(0, "1,0")), where));

    try (var embedder = embedder(null, 1, Duration.ofMillis(200))) {
      assertThatThrownBy(() -> embedder.embed(List.of("a")))
          .isInstanceOf(EmbedderUnavailableException.class);
    }
  }

  @Test
  void embed_manyTexts_areAskedInSeveralRequests() throws Exception {
    var many = Stream.generate(() -> "text").limit(65).toList();
    script.add(
        new Answer(
            200,
            vectors(
                IntStream.range(0, 64).mapToObj(i -> vector(i, "1,0")).toArray(String[]::new))));
    script.add(new Answer(200, vectors(vector(0, "0,1"))));

    try (var embedder = embedder(null, 1)) {
      assertThat(embedder.embed(many).getLast().sentenceVector()).containsExactly(0, 1);
    }
  }

  @Test
  void probe_whateverItGives_isCounted() throws Exception {
    script.add(new Answer(200, vectors(vector(0, "1,0,0"))));
    for (var none : List.of(new Answer(503, ""), new Answer(401, ""), new Answer(200, "{}"))) {
      script.add(none);
    }

    try (var embedder = embedder(null, 3)) {
      assertThat(embedder.probe()).hasValue(3);
      for (int i = 0; i < 3; i++) {
        assertThat(embedder.probe()).isEmpty();
      }
    }
    assertThat(pauses).isEmpty();
  }

  @Test
  void embed_nobodyThere_isUnavailable() {
    server.stop(0);

    try (var embedder = embedder(null, 2)) {
      assertThatThrownBy(() -> embedder.embed(List.of("a")))
          .isInstanceOf(EmbedderUnavailableException.class);
    }
    assertThat(pauses).hasSize(1);
  }
}
