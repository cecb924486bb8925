package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import dev.sluice.proto.v1.Filter;
import dev.sluice.proto.v1.LogServiceGrpc;
import dev.sluice.proto.v1.QueryRequest;
import dev.sluice.proto.v1.StoredLog;
import dev.sluice.templates.dictionary.ContentId;
import io.grpc.ManagedChannelBuilder;
import java.net.URLEncoder;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.time.Instant;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.UUID;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/**
 * Tests templates in queries: as a field of logs, and by themselves.
 *
 * <p>The logs are of a day in 2019 that no other test uses: {@code user ann} and {@code user bob}
 * have logs until nine o'clock, when they are merged into {@code user <*>}; {@code stopped} has
 * logs before nine, {@code started} from nine on.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class TemplatesIT {
  private final Gateway gateway = Gateway.shared();
  private final String service = Gateway.service("templates");
  private final String other = Gateway.service("templates");
  private final UUID ann = id("user ann");
  private final UUID bob = id("user bob");
  private final UUID users = id("user <*>");
  private final UUID stopped = id("stopped");
  private final UUID started = id("started");

  /** Returns the id of a template text that no other test uses. */
  private UUID id(String text) {
    return ContentId.of(text(text));
  }

  private String text(String text) {
    return service + ": " + text;
  }

  @BeforeAll
  void store() {
    var none = new UUID(0, 0);
    template("user ann", users);
    template("user bob", users);
    template("user <*>", none);
    template("stopped", none);
    template("started", none);
    log("2019-05-06 08:10:00", service, 9, "user ann", ann);
    log("2019-05-06 08:20:30", service, 17, "user bob", bob);
    log("2019-05-06 08:30:00", other, 9, "stopped", stopped);
    log("2019-05-06 09:00:00", service, 9, "user ann", users);
    log("2019-05-06 09:10:00", other, 9, "user carl", users);
    log("2019-05-06 09:20:00", service, 9, "started", started);
    log("2019-05-06 09:30:00", service, 9, "no template", none);
  }

  private void template(String text, UUID into) {
    var _ =
        gateway.rows(
            """
            INSERT INTO log_templates (Tenant, TemplateId, Text, MergedInto)
            VALUES ('default', '%s', '%s', '%s')"""
                .formatted(id(text), text(text), into));
  }

  private void log(String at, String of, int severity, String body, UUID template) {
    var _ =
        gateway.rows(
            """
            INSERT INTO otel_logs (Timestamp, Id, ServiceName, SeverityNumber, Body, TemplateId)
            VALUES ('%s', unhex('%s'), '%s', %d, '%s', '%s')"""
                .formatted(
                    at,
                    HexFormat.of().toHexDigits(at.hashCode()).repeat(4),
                    of,
                    severity,
                    body,
                    template));
  }

  private JsonNode ask(String pathAndQuery) {
    var response = gateway.get(gateway.http(pathAndQuery));
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    return Gateway.json(response);
  }

  private static List<JsonNode> list(JsonNode array) {
    return StreamSupport.stream(array.spliterator(), false).toList();
  }

  private static List<String> bodies(JsonNode page) {
    return list(page.get("logs")).stream().map(log -> log.get("body").asString()).toList();
  }

  private HttpResponse<String> export(String query) {
    var request =
        HttpRequest.newBuilder(gateway.http("/api/v1/logs?" + query))
            .header("Accept", "application/x-ndjson")
            .build();
    return Gateway.send(request, BodyHandlers.ofString());
  }

  // ---- template lists

  private static final String NINE = "from=2019-05-06T09:00:00Z&to=2019-05-06T10:00:00Z";

  /** Returns the texts of the templates of this test. */
  private List<String> texts(String query) {
    return list(ask("/api/v1/templates?limit=1000&" + query).get("templates")).stream()
        .map(template -> template.get("template").asString())
        .toList();
  }

  @Test
  void templates_top_haveAllCounts() {
    var response = ask("/api/v1/templates?" + NINE);

    assertThat(response.get("from").asString()).isEqualTo("2019-05-06T09:00:00.000000000Z");
    assertThat(response.get("to").asString()).isEqualTo("2019-05-06T10:00:00.000000000Z");
    assertThat(response.get("total").asInt()).isEqualTo(2);
    assertThat(response.get("templates"))
        .hasToString(
            """
            [{"template_id":"%s","template":"%s","count":2,"count_before":2,"rate_change":0.0,\
            "first_seen":"2019-05-06T08:10:00.000000000Z","last_seen":"2019-05-06T09:10:00.000000000Z",\
            "services":{"%s":1,"%s":1},"severities":{"INFO":2,"ERROR":0}},\
            {"template_id":"%s","template":"%s","count":1,"count_before":0,\
            "first_seen":"2019-05-06T09:20:00.000000000Z","last_seen":"2019-05-06T09:20:00.000000000Z",\
            "services":{"%s":1},"severities":{"INFO":1}}]"""
                .formatted(
                    users, text("user <*>"), service, other, started, text("started"), service));
  }

  @Test
  void templates_otherViews_selectByTheirCriterion() {
    assertThat(texts("view=top&" + NINE)).containsExactly(text("user <*>"), text("started"));
    assertThat(texts("view=new&" + NINE)).containsExactly(text("started"));
    assertThat(texts("view=vanished&" + NINE)).containsExactly(text("stopped"));
    assertThat(texts("view=changed&" + NINE))
        .containsExactlyInAnyOrder(text("started"), text("stopped"));
    assertThat(texts("view=new&from=2019-05-06T08:00:00Z&to=2019-05-06T09:00:00Z"))
        .containsExactlyInAnyOrder(text("user <*>"), text("stopped"));
  }

  @Test
  void templates_ofAServiceOrLevel_areCountedThereAlone() {
    assertThat(texts("service=" + other + "&" + NINE)).containsExactly(text("user <*>"));
    assertThat(texts("view=new&service=" + other + "&" + NINE)).containsExactly(text("user <*>"));
    assertThat(texts("severity=ERROR&" + NINE)).isEmpty();
    assertThat(texts("view=vanished&severity=ERROR&" + NINE)).containsExactly(text("user <*>"));
    assertThat(texts("view=vanished&min_severity=WARN&" + NINE)).containsExactly(text("user <*>"));
    assertThat(texts("service=nowhere&" + NINE)).isEmpty();
  }

  @Test
  void templates_timesWithinMinutes_areRoundedToFullMinutes() {
    var response = ask("/api/v1/templates?from=2019-05-06T08:20:59Z&to=2019-05-06T09:00:00.5Z");

    assertThat(response.get("from").asString()).isEqualTo("2019-05-06T08:20:00.000000000Z");
    assertThat(response.get("to").asString()).isEqualTo("2019-05-06T09:01:00.000000000Z");
    assertThat(list(response.get("templates")))
        .extracting(template -> template.get("count").asInt())
        .containsExactly(2, 1);
  }

  @Test
  void templates_noTimeRange_coversTheLastHour() {
    var day = ask("/api/v1/templates?to=2019-05-06T09:10:30Z");

    assertThat(day.get("from").asString()).isEqualTo("2019-05-06T08:10:00.000000000Z");
    assertThat(ask("/api/v1/templates?to=30").get("from").asString())
        .startsWith("1970-01-01T00:00");
    var now = ask("/api/v1/templates?service=nowhere");
    assertThat(
            Duration.between(
                Instant.parse(now.get("from").asString()), Instant.parse(now.get("to").asString())))
        .isEqualTo(Duration.ofHours(1));
    assertThat(Instant.parse(now.get("to").asString())).isAfter(Instant.now());
  }

  /**
   * Covers the complete path from the message to its template, without rows inserted by the test.
   */
  @Test
  void templates_ingestedLogs_areListed() {
    var own = Gateway.service("templates-own");
    gateway.postLogs(
        """
        [{"service":"%1$s","severity":"WARN","timestamp":"2018-03-04T05:06:07Z","body":"order 17 of %1$s took 250 ms"},
         {"service":"%1$s","severity":"WARN","timestamp":"2018-03-04T05:06:08Z","body":"order 18 of %1$s took 3 ms"}]"""
            .formatted(own));
    gateway.awaitStored(own, 2);

    var templates =
        list(
            ask("/api/v1/templates?from=2018-03-04T05:06:00Z&to=2018-03-04T05:07:00Z&service="
                    + own)
                .get("templates"));

    assertThat(templates).hasSize(1);
    var template = templates.getFirst();
    assertThat(template.get("template").asString()).startsWith("order <*> of").contains("took <*>");
    assertThat(template.get("count").asInt()).isEqualTo(2);
    assertThat(template.get("severities")).hasToString("{\"WARN\":2}");
    var id = template.get("template_id").asString();
    assertThat(list(ask("/api/v1/logs?service=" + own).get("logs")))
        .extracting(log -> log.get("template_id").asString())
        .containsOnly(id);
    assertThat(bodies(ask("/api/v1/templates/" + id + "/logs")))
        .containsExactly(
            "order 18 of " + own + " took 3 ms", "order 17 of " + own + " took 250 ms");
  }

  @ParameterizedTest
  @CsvSource({
    "view=best, view is not one of top new vanished changed",
    "limit=0, limit",
    "limit=1001, limit",
    "from=yesterday, from",
    "from=2019-01-02&to=2019-01-02, from is not before to",
    "from=2260-01-01, from is not before to",
    "severity=LOUD, severity",
    "min_severity=7, min_severity",
    "service=a&service=b, service",
    "text=a, unknown parameter",
    "cursor=, unknown parameter",
  })
  void templates_badParameter_is400NamingIt(String query, String detail) {
    var response = gateway.get(gateway.http("/api/v1/templates?" + query));

    assertThat(response.statusCode()).isEqualTo(400);
    assertThat(Gateway.json(response).get("detail").asString().replace(",", "")).contains(detail);
  }

  // ---- single templates

  @Test
  void template_anyMergedMember_resolvesToCanonical() {
    for (var id : List.of(ann, bob, users)) {
      var found = ask("/api/v1/templates/" + id + "?" + NINE);

      assertThat(found.get("template_id").asString()).isEqualTo(users.toString());
      assertThat(found.get("template").asString()).isEqualTo(text("user <*>"));
      assertThat(found.get("count").asInt()).isEqualTo(2);
      assertThat(found.get("count_before").asInt()).isEqualTo(2);
      assertThat(found.get("first_seen").asString()).startsWith("2019-05-06T08:10:00");
      assertThat(list(found.get("merged")))
          .extracting(JsonNode::asString)
          .containsExactlyInAnyOrder(ann.toString(), bob.toString());
    }
    var there = ask("/api/v1/templates/" + users + "?service=" + other + "&" + NINE);
    assertThat(there.get("first_seen").asString()).startsWith("2019-05-06T09:10:00");
    assertThat(there.get("count").asInt()).isEqualTo(1);
    var never = ask("/api/v1/templates/" + users + "?service=nowhere");
    assertThat(never.get("count").asInt()).isZero();
    assertThat(never.has("first_seen")).isFalse();
  }

  @Test
  void template_logs_coverMergedGroupPageByPage() {
    var path = "/api/v1/templates/" + ann + "/logs";
    var first = ask(path + "?limit=3");
    var second = ask(path + "?limit=3&cursor=" + first.get("next_cursor").asString());

    assertThat(bodies(first)).containsExactly("user carl", "user ann", "user bob");
    assertThat(bodies(second)).containsExactly("user ann");
    assertThat(second.has("next_cursor")).isFalse();
    assertThat(bodies(ask(path + "?from=2019-05-06T08:20:30Z&to=2019-05-06T09:00:00Z")))
        .containsExactly("user bob");
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "/logs"})
  void template_unknownOrNone_is404Or400(String below) {
    var unknown = gateway.get(gateway.http("/api/v1/templates/" + id("never written") + below));
    var none = gateway.get(gateway.http("/api/v1/templates/1-1-1-1-1" + below));
    var filtered = gateway.get(gateway.http("/api/v1/templates/" + users + below + "?text=a"));

    assertThat(unknown.statusCode()).isEqualTo(404);
    assertThat(Gateway.json(unknown).get("type").asString()).isEqualTo("/api/problems/not-found");
    assertThat(Gateway.json(unknown).get("detail").asString()).isEqualTo("no template has this id");
    assertThat(none.statusCode()).isEqualTo(400);
    assertThat(Gateway.json(none).get("detail").asString()).startsWith("id is not the id");
    assertThat(filtered.statusCode()).isEqualTo(400);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "/d41d8cd9-8f00-b204-e980-0998ecf8427e", "/any/logs"})
  void templates_anotherMethod_is405(String below) {
    var response = gateway.delete(gateway.http("/api/v1/templates" + below));

    assertThat(response.statusCode()).isEqualTo(405);
    assertThat(response.headers().firstValue("Allow")).hasValue("GET");
  }

  // ---- search

  /** The word {@code bob} is only in a template that was merged. */
  @Test
  void search_mergedTemplates_areOneHitWithAllLogs() {
    await()
        .atMost(Duration.ofMinutes(2))
        .untilAsserted(
            () -> {
              var found = search("user bob");
              assertThat(found)
                  .extracting(hit -> hit.get("template_id").asString())
                  .containsExactly(users.toString(), started.toString());
              var hit = found.getFirst();
              assertThat(list(hit.get("matched"))).extracting(JsonNode::asString).contains("words");
              assertThat(hit.get("template").asString()).isEqualTo(text("user <*>"));
              assertThat(hit.get("count").asInt()).isEqualTo(3);
              assertThat(hit.get("severities")).hasToString("{\"INFO\":2,\"ERROR\":1}");
              assertThat(list(hit.get("samples")))
                  .extracting(log -> log.get("body").asString())
                  .containsExactly("user ann", "user bob", "user ann");
            });
  }

  private List<JsonNode> search(String query) {
    var body = "{\"query\":\"%s\",\"service\":\"%s\",\"samples\":10}".formatted(query, service);
    var response =
        gateway.post(gateway.http("/api/v1/logs/search"), "application/json", body.getBytes(UTF_8));
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    return list(Gateway.json(response).get("templates"));
  }

  // ---- templates of logs

  @Test
  void logs_ofMergedTemplates_haveCanonicalTemplateId() {
    var logs = list(ask("/api/v1/logs?service=" + service).get("logs"));

    assertThat(logs).hasSize(5);
    assertThat(logs.getFirst().has("template_id")).isFalse();
    assertThat(logs.stream().skip(1).map(log -> log.get("template_id").asString()))
        .containsExactly(started.toString(), users.toString(), users.toString(), users.toString());
    assertThat(export("service=" + service + "&to=2019-05-06T09:00:00Z").body())
        .contains("\"template_id\":\"" + users + "\"")
        .doesNotContain(ann.toString());
  }

  @Test
  void logs_byAnyMergedTemplate_coverTheGroup() {
    for (var id : List.of(ann, bob, users)) {
      var query = "template_id=" + id.toString().toUpperCase(Locale.ROOT);

      assertThat(bodies(ask("/api/v1/logs?" + query)))
          .containsExactly("user carl", "user ann", "user bob", "user ann");
      assertThat(bodies(ask("/api/v1/logs?" + query + "&severity=ERROR")))
          .containsExactly("user bob");
      assertThat(ask("/api/v1/logs/histogram?" + query).get("total").asInt()).isEqualTo(4);
      assertThat(export(query).body().lines()).hasSize(4);
    }
    assertThat(bodies(ask("/api/v1/logs?template_id=" + stopped))).containsExactly("stopped");
    assertThat(bodies(ask("/api/v1/logs?template_id=" + stopped + "&template_id=" + started)))
        .containsExactly("started", "stopped");
    assertThat(bodies(ask("/api/v1/logs?template_id=" + id("never written")))).isEmpty();
  }

  @Test
  void logs_overGrpc_areTheSame() {
    var channel =
        ManagedChannelBuilder.forAddress("127.0.0.1", gateway.grpcPort()).usePlaintext().build();
    try {
      var page =
          LogServiceGrpc.newBlockingStub(channel)
              .query(
                  QueryRequest.newBuilder()
                      .setFilter(Filter.newBuilder().addTemplateIds(bytes(ann)))
                      .build());

      assertThat(page.getLogsList())
          .extracting(StoredLog::getBody)
          .containsExactly("user carl", "user ann", "user bob", "user ann");
      assertThat(page.getLogsList())
          .extracting(StoredLog::getTemplateId)
          .containsOnly(bytes(users));
    } finally {
      channel.shutdownNow();
    }
  }

  private static ByteString bytes(UUID id) {
    return ByteString.copyFrom(HexFormat.of().parseHex(id.toString().replace("-", "")));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "1-1-1-1-1",
        "",
        "d41d8cd98f00b204e9800998ecf8427e",
        "d41d8cd9-8f00-b204-e980-0998ecf8427g",
        "00000000-0000-0000-0000-000000000000",
        "' OR 1=1",
      })
  void logs_byInvalidTemplateId_is400NamingTheParameter(String id) {
    var response =
        gateway.get(gateway.http("/api/v1/logs?template_id=" + URLEncoder.encode(id, UTF_8)));

    assertThat(response.statusCode()).isEqualTo(400);
    assertThat(Gateway.json(response).get("detail").asString())
        .startsWith("template_id is not the id of a template");
  }
}
