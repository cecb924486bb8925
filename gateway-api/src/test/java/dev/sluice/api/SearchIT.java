package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_16BE;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.sluice.proto.v1.Filter;
import dev.sluice.proto.v1.LogServiceGrpc;
import dev.sluice.proto.v1.Matched;
import dev.sluice.proto.v1.SearchRequest;
import dev.sluice.proto.v1.SearchResponse;
import io.grpc.ManagedChannelBuilder;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.ByteArrayOutputStream;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.time.Instant;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** Tests the search by meaning with real engines and the bundled model. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class SearchIT {
  private static final JsonMapper JSON = new JsonMapper();
  private static final String PLANTED = "EXT4-fs error: no space left on device sdb7";
  private static final String STUCK = "valve of the northern pump is stuck";
  private static final String WARM = "southern pump gets warm";
  private static final String OLD = "pump of the old mill was scrapped by its owner";
  private static final List<String> WHO =
      List.of(
          "scheduler",
          "mailer",
          "printer",
          "router",
          "parser",
          "indexer",
          "backup",
          "renderer",
          "importer",
          "exporter");
  private static final List<String> DID =
      List.of(
          "started",
          "stopped",
          "reloaded its settings",
          "accepted a connection",
          "closed a connection",
          "finished a job",
          "rejected a request",
          "renewed a lease",
          "rotated keys",
          "wrote a report");

  /** Several logs of each template, which differ only in a value; each is found by its value. */
  private static final List<String> IDENTIFIED =
      Stream.of(
              "peer %s answered slowly; 10.250.19.102 10.250.19.103 10.250.19.104",
              "update of agent ended with %s; 0x80070001 0x80070002 0x80070005",
              "trace of call %s was sampled; 4bf92f3577b34da6 a3ce929d0e0e4736 00f067aa0ba902b7",
              "wallet of account %s was unlocked; deadbeef fadecafe feedface decade beef",
              "shell of user %s has ended; fztu qwop xyzzy grault garply")
          .flatMap(
              kind ->
                  Stream.of(kind.substring(kind.indexOf(';') + 2).split(" ", -1))
                      .map(kind.substring(0, kind.indexOf(';'))::formatted))
          .toList();

  private final Gateway gateway = Gateway.shared();
  private final String service = Gateway.service("search");

  /** The service of a planted log among the logs of a hundred other templates. */
  private final String crowd = Gateway.service("search");

  /** The service of logs with several severities and times. */
  private final String pumps = Gateway.service("search");

  private final Instant now = Instant.now();

  @BeforeAll
  void store() {
    var old = now.minus(Duration.ofDays(14));
    gateway.postLogs(
        JSON.createArrayNode()
            .add(pump("ERROR", now.minus(Duration.ofHours(1)), STUCK))
            .add(pump("ERROR", now.minus(Duration.ofDays(2)), STUCK))
            .add(pump("ERROR", now, STUCK))
            .add(pump("WARN", now, WARM))
            .add(pump("INFO", old, OLD))
            .toString());
    var many =
        Stream.concat(
                Stream.of("EXT4-fs error: no space left on device sdc1"),
                WHO.stream().flatMap(who -> DID.stream().map(did -> who + " " + did)))
            .toArray(String[]::new);
    gateway.postLogs(lines(crowd, many));
    gateway.postLogs(lines(crowd, IDENTIFIED.toArray(String[]::new)));
    gateway.postLogs(
        lines(
            service,
            PLANTED,
            "session 4711 opened for user root by uid 0",
            "GET /checkout/basket answered 200 in 17 ms",
            "cron job rotate-logs finished with status 0",
            "certificate of mail.example.com expires in 12 days",
            "payment 9f3c77aa10be authorised",
            "checkpoint complete: wrote 811 buffers",
            "eth0: link is down"));
    await()
        .atMost(Duration.ofMinutes(2))
        .untilAsserted(
            () -> {
              assertThat(templates(search("anything"))).hasSize(8);
              var all = JSON.createObjectNode().put("query", "anything").put("service", crowd);
              assertThat(Gateway.json(post(all.put("limit", 100).toString())).path("templates"))
                  .hasSizeGreaterThan(80);
              // the merge of the templates is visible
              assertThat(Gateway.json(post(all.put("query", "fztu").toString())).path("logs"))
                  .hasSize(1);
              assertThat(pumps("{}")).hasSize(3);
            });
  }

  private ObjectNode pump(String severity, Instant at, String body) {
    var log = JSON.createObjectNode().put("service", pumps).put("severity", severity);
    return log.put("timestamp", at.toString()).put("body", body);
  }

  /** Returns the logs as NDJSON, each with its length as an attribute. */
  private static String lines(String of, String... bodies) {
    var array = JSON.createArrayNode();
    for (var body : bodies) {
      var log = array.addObject().put("service", of).put("severity", "INFO").put("body", body);
      log.putObject("attributes").put("length", body.length());
    }
    return array.toString();
  }

  private HttpResponse<String> post(String body) {
    return Gateway.send(
        HttpRequest.newBuilder(gateway.http("/api/v1/logs/search"))
            .header("Content-Type", "application/json")
            .POST(BodyPublishers.ofString(body))
            .build(),
        BodyHandlers.ofString());
  }

  private JsonNode search(String query) {
    return search(query, "hybrid");
  }

  private JsonNode search(String query, String mode) {
    var body = JSON.createObjectNode().put("query", query).put("service", service);
    var response = post(body.put("mode", mode).toString());
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    return Gateway.json(response);
  }

  private static List<String> templates(JsonNode response) {
    return StreamSupport.stream(response.path("templates").spliterator(), false)
        .map(template -> template.path("samples").path(0).path("body").asString())
        .toList();
  }

  @Test
  void search_queryWithoutSharedTerms_findsPlantedLogInTopThree() {
    var request = JSON.createObjectNode().put("query", "why is the storage exhausted");
    var response = Gateway.json(post(request.put("service", crowd).toString()));

    assertThat(templates(response).subList(0, 3))
        .contains("EXT4-fs error: no space left on device sdc1");
    assertThat(response.has("without_meaning")).isFalse();
  }

  @Test
  void searchOverGrpc_query_matchesHttp() {
    var channel =
        ManagedChannelBuilder.forAddress("127.0.0.1", gateway.grpcPort()).usePlaintext().build();
    try {
      var stub = LogServiceGrpc.newBlockingStub(channel);
      var filter = Filter.newBuilder().setService(service);
      var request = SearchRequest.newBuilder().setQuery("payment 9f3c77aa10be").setFilter(filter);

      var response = stub.search(request.setLimit(2).build());

      assertThat(response.getTemplatesList()).hasSize(2);
      assertThat(response.getTemplates(0).getMatchedList())
          .contains(Matched.MATCHED_VALUE, Matched.MATCHED_WORDS, Matched.MATCHED_MEANING);
      assertThat(response.getTemplates(0).getSamples(0).getBody())
          .isEqualTo("payment 9f3c77aa10be authorised");
      assertThat(response.getTemplates(0).getSparklineCount()).isEqualTo(30);
      assertThat(response.getLogsList()).hasSize(1);
      assertThat(
              stub.search(request.setCursor(response.getNextCursor()).build()).getTemplatesList())
          .doesNotContainAnyElementsOf(response.getTemplatesList());
      for (var bad :
          List.of(
              SearchRequest.newBuilder(),
              SearchRequest.newBuilder().setQuery("a").setLimit(101),
              SearchRequest.newBuilder().setQuery("a").setCursor("x"),
              SearchRequest.newBuilder().setQuery("a").setModeValue(9),
              SearchRequest.newBuilder()
                  .setQuery("a")
                  .setFilter(Filter.newBuilder().setText("b")))) {
        assertThatThrownBy(() -> stub.search(bad.build()))
            .isInstanceOfSatisfying(
                StatusRuntimeException.class,
                e -> assertThat(e.getStatus().getCode()).isEqualTo(Status.Code.INVALID_ARGUMENT));
      }
    } finally {
      channel.shutdownNow();
    }
  }

  @Test
  void search_hit_hasEveryField() {
    var hit = search("checkpoint complete").path("templates").path(0);

    assertThat(hit.path("template").asString()).contains("checkpoint complete");
    assertThat(hit.path("count").asLong()).isEqualTo(1);
    assertThat(hit.path("severities").path("INFO").asLong()).isEqualTo(1);
    assertThat(hit.path("services").path(service).asLong()).isEqualTo(1);
    assertThat(hit.path("matched")).map(JsonNode::asString).contains("words");
    assertThat(hit.path("sparkline").path("counts")).hasSize(30);
    assertThat(hit.path("samples")).hasSize(1);
    var logs =
        gateway.get(
            gateway.http("/api/v1/templates/" + hit.path("template_id").asString() + "/logs"));
    assertThat(Gateway.json(logs).path("logs").size()).isPositive();
  }

  @Test
  void search_valueThatOnlyOneLogHas_findsThatLog() {
    for (var mode : List.of("hybrid", "keyword")) {
      var response = search("9f3c77aa10be", mode);

      assertThat(response.path("logs")).hasSize(1);
      assertThat(response.path("logs").path(0).path("body").asString())
          .isEqualTo("payment 9f3c77aa10be authorised");
      assertThat(templates(response).getFirst()).isEqualTo("payment 9f3c77aa10be authorised");
    }
    assertThat(templates(search("what happened to payment 9f3c77aa10be?")).getFirst())
        .isEqualTo("payment 9f3c77aa10be authorised");
  }

  @Test
  void search_valuesNotCooccurring_findsLogsWithAny() {
    var response = search("was payment=9f3c77aa10be made in session=4711, or 00ffee00?");

    assertThat(response.path("logs"))
        .map(log -> log.path("body").asString())
        .containsExactlyInAnyOrder(
            "payment 9f3c77aa10be authorised", "session 4711 opened for user root by uid 0");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "10.250.19.102",
        "which peer is 10.250.19.103?",
        "0x80070001",
        "why do agents fail with 0x80070002",
        "4bf92f3577b34da6",
        "deadbeef",
        "account feedface",
        "what happened to \"fadecafe\"",
        "fztu",
        "the shell of xyzzy"
      })
  void search_valueOfOneLogAmongAHundredTemplates_ranksThatLogFirst(String query) {
    for (var mode : List.of("hybrid", "keyword")) {
      assertFindsOneLog(query, mode);
    }
  }

  /**
   * The model shows that the value is not a word; that no current template has it is known a little
   * later.
   */
  @ParameterizedTest
  @ValueSource(strings = {"and what else did deadbeef", "tell me everything about qwop"})
  void search_nameInASentence_ranksItsLogFirst(String query) {
    await().atMost(Duration.ofMinutes(2)).untilAsserted(() -> assertFindsOneLog(query, "hybrid"));
  }

  private void assertFindsOneLog(String query, String mode) {
    var words = List.of(query.replaceAll("[\"?]", "").split(" ", -1));
    var planted =
        IDENTIFIED.stream()
            .filter(body -> body.contains(words.getLast()))
            .findFirst()
            .orElseThrow();
    var request = JSON.createObjectNode().put("query", query).put("service", crowd);

    var response = Gateway.json(post(request.put("mode", mode).toString()));

    assertThat(response.path("logs"))
        .as(mode)
        .map(log -> log.path("body").asString())
        .containsExactly(planted);
    var first = response.path("templates").path(0);
    assertThat(first.path("matched")).map(JsonNode::asString).contains("value");
    assertThat(response.path("logs").path(0).path("template_id").asString())
        .isEqualTo(first.path("template_id").asString());
  }

  @Test
  void search_pages_showEachTemplateOnceAndLogsOnTheFirst() {
    var request = JSON.createObjectNode().put("query", "anything of 4711").put("service", service);
    var first = Gateway.json(post(request.put("limit", 5).toString()));
    var second =
        Gateway.json(post(request.put("cursor", first.path("next_cursor").asString()).toString()));

    assertThat(templates(first)).hasSize(5).doesNotContainAnyElementsOf(templates(second));
    assertThat(templates(second)).hasSize(3);
    assertThat(second.has("next_cursor")).isFalse();
    assertThat(first.path("logs")).hasSize(1);
    assertThat(second.path("logs")).isEmpty();
    assertThat(post(request.put("query", "something else").toString()).statusCode()).isEqualTo(400);
  }

  @Test
  void search_attributesAndTime_narrow() {
    var none = JSON.createObjectNode().put("query", "storage").put("service", service);
    none.putObject("attributes").put("length", 1);
    assertThat(Gateway.json(post(none.toString())).path("templates")).isEmpty();

    var one = JSON.createObjectNode().put("query", "storage").put("service", service);
    one.putObject("attributes").put("length", "eth0: link is down".length());
    assertThat(templates(Gateway.json(post(one.toString())))).containsExactly("eth0: link is down");

    var past = JSON.createObjectNode().put("query", "storage").put("service", service);
    past.put("to", "2020-01-01T00:00:00Z");
    assertThat(Gateway.json(post(past.toString())).path("templates")).isEmpty();
  }

  private ObjectNode ofPumps(String fields) {
    var request = JSON.createObjectNode().put("query", "how are the pumps").put("service", pumps);
    return request.setAll((ObjectNode) Gateway.json(fields));
  }

  private List<String> pumps(String fields) {
    var response = post(ofPumps(fields).toString());
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    return templates(Gateway.json(response));
  }

  @Test
  void search_levels_excludeOtherLevels() {
    assertThat(pumps("{\"severity\":\"ERROR\"}")).containsExactly(STUCK);
    assertThat(pumps("{\"severity\":[\"ERROR\",\"WARN\"]}")).containsExactlyInAnyOrder(STUCK, WARM);
    assertThat(pumps("{\"min_severity\":\"WARN\"}")).containsExactlyInAnyOrder(STUCK, WARM);
    assertThat(pumps("{\"min_severity\":\"FATAL\"}")).isEmpty();
  }

  @Test
  void search_noTimeRange_coversEverythingAndFromExcludesEarlier() {
    assertThat(pumps("{}")).containsExactlyInAnyOrder(STUCK, WARM, OLD);
    assertThat(pumps("{\"from\":\"%s\"}".formatted(now.minus(Duration.ofDays(13)))))
        .containsExactlyInAnyOrder(STUCK, WARM);
    assertThat(pumps("{\"from\":%d.5}".formatted(now.minus(Duration.ofDays(13)).getEpochSecond())))
        .containsExactlyInAnyOrder(STUCK, WARM);
    assertThat(pumps("{\"to\":\"%s\"}".formatted(now.minus(Duration.ofDays(13)))))
        .containsExactly(OLD);
    assertThat(pumps("{\"from\":\"%s\"}".formatted(now.plus(Duration.ofDays(1))))).isEmpty();
  }

  /** The stuck valve has logs now, an hour ago and two days ago. */
  @Test
  void search_sparkline_addsUpToTheCount() {
    var response = Gateway.json(post(ofPumps("{\"severity\":\"ERROR\"}").toString()));
    assertThat(response.path("templates").path(0).path("count").asLong()).isEqualTo(3);
    assertThat(inSparkline(response)).isEqualTo(3);

    var day = "{\"severity\":\"ERROR\",\"from\":\"%s\"}".formatted(now.minus(Duration.ofDays(1)));
    response = Gateway.json(post(ofPumps(day).toString()));
    assertThat(response.path("templates").path(0).path("count").asLong()).isEqualTo(2);
    assertThat(inSparkline(response)).isEqualTo(2);
  }

  private static long inSparkline(JsonNode response) {
    var counts = response.path("templates").path(0).path("sparkline").path("counts");
    return StreamSupport.stream(counts.spliterator(), false).mapToLong(JsonNode::asLong).sum();
  }

  @Test
  void searchOverGrpc_levelsAndTimes_narrowAsOverHttp() {
    long week = TimeUnit.SECONDS.toNanos(now.minus(Duration.ofDays(7)).getEpochSecond());

    assertThat(pumpsByGrpc(Filter.newBuilder())).containsExactlyInAnyOrder(STUCK, WARM, OLD);
    assertThat(pumpsByGrpc(Filter.newBuilder().addSeverityNumbers(17))).containsExactly(STUCK);
    assertThat(pumpsByGrpc(Filter.newBuilder().setMinSeverityNumber(13)))
        .containsExactlyInAnyOrder(STUCK, WARM);
    assertThat(pumpsByGrpc(Filter.newBuilder().setFromUnixNano(week)))
        .containsExactlyInAnyOrder(STUCK, WARM);
    assertThat(pumpsByGrpc(Filter.newBuilder().setToUnixNano(week))).containsExactly(OLD);
  }

  private List<String> pumpsByGrpc(Filter.Builder filter) {
    var request = SearchRequest.newBuilder().setQuery("how are the pumps");
    return overGrpc(request.setFilter(filter.setService(pumps)).build()).getTemplatesList().stream()
        .map(template -> template.getSamples(0).getBody())
        .toList();
  }

  private SearchResponse overGrpc(SearchRequest request) {
    var channel =
        ManagedChannelBuilder.forAddress("127.0.0.1", gateway.grpcPort()).usePlaintext().build();
    try {
      return LogServiceGrpc.newBlockingStub(channel).search(request);
    } finally {
      channel.shutdownNow();
    }
  }

  @Test
  void searchOverGrpc_tooLong_isRejected() {
    for (int length : new int[] {1001, 100_000}) {
      assertRefused(length, Status.Code.INVALID_ARGUMENT);
    }
    assertRefused(300_000, Status.Code.RESOURCE_EXHAUSTED);
  }

  private void assertRefused(int length, Status.Code code) {
    var request = SearchRequest.newBuilder().setQuery("a".repeat(length)).build();
    assertThatThrownBy(() -> overGrpc(request))
        .isInstanceOfSatisfying(
            StatusRuntimeException.class, e -> assertThat(e.getStatus().getCode()).isEqualTo(code));
  }

  @Test
  void search_unknownService_isEmpty() {
    var response =
        Gateway.json(post("{\"query\":\"storage\",\"service\":\"no such service at all\"}"));

    assertThat(response.path("templates")).isEmpty();
    assertThat(response.path("logs")).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "null",
        "[]",
        "{}",
        "{\"query\":\"\"}",
        "{\"query\":\"  \"}",
        "{\"query\":{}}",
        "{\"query\":\"a\",\"mode\":\"fuzzy\"}",
        "{\"query\":\"a\",\"limit\":0}",
        "{\"query\":\"a\",\"limit\":101}",
        "{\"query\":\"a\",\"cursor\":\"x\"}",
        "{\"query\":\"a\",\"severity\":\"loud\"}",
        "{\"query\":\"a\",\"from\":\"yesterday\"}",
        "{\"query\":\"a\",\"from\":1e999}",
        "{\"query\":\"a\",\"attributes\":[]}",
        "{\"query\":\"a\",\"attributes\":{\"a\":{}}}",
        "{\"query\":\"a\",\"text\":\"b\"}",
        "{\"query\":\"a\",\"tenant\":\"other\"}"
      })
  void search_invalidBody_isMalformed(String body) {
    var response = post(body);

    assertThat(response.statusCode()).as(response.body()).isEqualTo(400);
    assertThat(response.headers().firstValue("Content-Type").orElseThrow())
        .startsWith("application/problem+json");
  }

  @Test
  void search_tooLong_isRejected() {
    assertThat(post("{\"query\":\"" + "a".repeat(1001) + "\"}").statusCode()).isEqualTo(400);
    assertThat(post("{\"query\":\"" + "a".repeat(100_000) + "\"}").statusCode()).isEqualTo(413);
  }

  /**
   * An invalid start byte, an invalid continuation byte, truncated and overlong sequences, and a
   * surrogate.
   */
  @ParameterizedTest
  @ValueSource(strings = {"ff", "c328", "e282", "c0af", "eda080"})
  void search_invalidUtf8_isMalformed(String bytes) {
    var body = Stream.of(utf8("{\"query\":\""), HexFormat.of().parseHex(bytes), utf8("\"}"));
    var whole = new ByteArrayOutputStream();
    body.forEach(whole::writeBytes);

    for (var path : List.of("/api/v1/logs/search", "/api/logs/search")) {
      var response = gateway.post(gateway.http(path), "application/json", whole.toByteArray());

      assertThat(response.statusCode()).as(response.body()).isEqualTo(400);
      assertThat(response.body()).contains("body is not a JSON object in UTF-8");
    }
  }

  @Test
  void search_utf16_isMalformed() {
    var body = "{\"query\":\"a\"}".getBytes(UTF_16BE);

    var response = gateway.post(gateway.http("/api/v1/logs/search"), "application/json", body);

    assertThat(response.statusCode()).as(response.body()).isEqualTo(400);
  }

  private static byte[] utf8(String text) {
    return text.getBytes(UTF_8);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "the of and",
        "' OR 1=1 --",
        "\\u0000\\uFFFD\\u0007",
        "连接被拒绝",
        "a AND (b OR \\\"c",
        "🎉 {{7*7}} ${jndi:ldap://x}",
        "%s %d \\\\ *"
      })
  void search_anyQuery_succeeds(String query) {
    for (var mode : List.of("hybrid", "semantic", "keyword")) {
      var response = post("{\"query\":\"%s\",\"mode\":\"%s\"}".formatted(query, mode));

      assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    }
  }
}
