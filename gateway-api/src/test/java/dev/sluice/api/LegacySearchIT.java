package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** Tests the search by meaning through the legacy API. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class LegacySearchIT {
  private static final JsonMapper JSON = new JsonMapper();
  private static final String FULL = "no space left on device sdb7";
  private static final String WORN = "storage controller answers slowly";
  private static final String NEW = "disk sdc was put in by hand";
  private static final String ELSEWHERE = "file system of the other one is full";

  private final Gateway gateway = Gateway.shared();
  private final String app = Gateway.service("app-search");
  private final String other = Gateway.service("app-search");

  @BeforeAll
  void store() {
    var logs = JSON.createArrayNode();
    log(app, "ERROR", "2021-05-06T10:00:10Z", FULL, logs.addObject());
    log(app, "WARN", "2021-05-06T10:00:50Z", WORN, logs.addObject());
    log(app, "INFO", "2021-05-06T11:00:00Z", NEW, logs.addObject());
    log(other, "ERROR", "2021-05-06T10:00:10Z", ELSEWHERE, logs.addObject());
    assertThat(gateway.postLogs(logs.toString()).statusCode()).isEqualTo(202);
    await()
        .atMost(Duration.ofMinutes(2))
        .untilAsserted(
            () -> {
              assertThat(found("{}")).containsExactlyInAnyOrder(FULL, WORN, NEW);
              assertThat(messages(search(queryBody().put("app_id", other))))
                  .containsExactly(ELSEWHERE);
            });
  }

  private static void log(String of, String level, String at, String body, ObjectNode log) {
    log.put("service", of).put("severity", level).put("timestamp", at).put("body", body);
  }

  private static ObjectNode queryBody() {
    return JSON.createObjectNode().put("query", "why is the storage exhausted");
  }

  private HttpResponse<String> post(String body) {
    return gateway.post(gateway.http("/api/logs/search"), "application/json", body.getBytes(UTF_8));
  }

  private JsonNode search(ObjectNode question) {
    var response = post(question.toString());
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    assertThat(Gateway.json(response).path("success").asBoolean()).isTrue();
    return Gateway.json(response).path("data");
  }

  private static List<String> messages(JsonNode data) {
    return StreamSupport.stream(data.path("logs").spliterator(), false)
        .map(log -> log.path("message").asString())
        .toList();
  }

  /** Searches the logs of the app with these fields and returns the bodies found. */
  private List<String> found(String fields) {
    var question = queryBody().put("app_id", app);
    question.setAll((ObjectNode) Gateway.json(fields));
    return messages(search(question));
  }

  @Test
  void search_query_hasALegacyResponse() {
    var data = search(queryBody().put("app_id", app).put("limit", 2));

    assertThat(data.path("query").asString()).isEqualTo("why is the storage exhausted");
    assertThat(data.path("logs")).hasSize(2);
    assertThat(messages(data)).contains(FULL);
    var first = data.path("logs").path(0);
    assertThat(first.path("app_id").asString()).isEqualTo(app);
    assertThat(first.path("similarity").isNumber()).isTrue();
    var metadata = data.path("metadata");
    assertThat(metadata.path("count").asInt()).isEqualTo(2);
    assertThat(metadata.path("limit").asInt()).isEqualTo(2);
    assertThat(metadata.has("without_meaning")).isFalse();
  }

  @Test
  void search_valueOfOneLog_ranksThatLogFirst() {
    var data = search(queryBody().put("app_id", app).put("query", "what of sdb7?"));

    assertThat(messages(data).getFirst()).isEqualTo(FULL);
    assertThat(data.path("logs").path(0).has("similarity")).isFalse();
  }

  @Test
  void search_levels_excludeOtherLevels() {
    assertThat(found("{\"level\":\"ERROR\"}")).containsExactly(FULL);
    assertThat(found("{\"level\":\"warning\"}")).containsExactly(WORN);
    assertThat(found("{\"level\":[\"INFO\"]}")).containsExactly(NEW);
    assertThat(found("{\"level\":[\"error\",\"WARN\"]}")).containsExactlyInAnyOrder(FULL, WORN);
    assertThat(found("{\"level\":\"DEBUG\"}")).isEmpty();
    assertThat(found("{\"level\":[]}")).hasSize(3);
    assertThat(found("{\"level\":null}")).hasSize(3);
  }

  /** The range is exact, although templates are counted per minute. */
  @Test
  void search_timeRange_excludesLogsOutsideIt() {
    assertThat(found("{\"time_range\":{\"start\":\"2021-05-06T10:00:10.000000001Z\"}}"))
        .containsExactlyInAnyOrder(WORN, NEW);
    assertThat(found("{\"time_range\":{\"start\":\"2021-05-06T10:30:00Z\"}}")).containsExactly(NEW);
    assertThat(found("{\"time_range\":{\"end\":\"2021-05-06T10:00:50Z\"}}")).containsExactly(FULL);
    assertThat(found("{\"time_range\":{\"end\":\"2021-05-06T11:00:00Z\"}}"))
        .containsExactlyInAnyOrder(FULL, WORN);
    assertThat(
            found(
                "{\"time_range\":{\"start\":\"2021-05-06T10:00:30Z\",\"end\":\"2021-05-06T10:01:00Z\"}}"))
        .containsExactly(WORN);
    // 10:30 in milliseconds, and in seconds with a fraction
    assertThat(found("{\"time_range\":{\"start\":1620297000000}}")).containsExactly(NEW);
    assertThat(found("{\"time_range\":{\"start\":1620297000.5}}")).containsExactly(NEW);
    assertThat(found("{\"time_range\":null}")).hasSize(3);
    assertThat(found("{\"time_range\":{}}")).hasSize(3);
    assertThat(found("{\"time_range\":{\"start\":null}}")).hasSize(3);
  }

  /** The message uses the field names of the legacy API. */
  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '~',
      value = {
        "~~ | body is not a JSON object",
        "[] | body is not a JSON object",
        "{} | query must have",
        "{'query':''} | query must have",
        "{'query':{}} | query must have",
        "{'query':'a','limit':0} | limit is not a number",
        "{'query':'a','limit':101} | limit is not a number",
        "{'query':'a','limit':[]} | limit is not",
        "{'query':'a','app_id':{}} | app_id is not",
        "{'query':'a','app_id':''} | app_id is empty",
        "{'query':'a','limit':''} | limit is empty",
        "{'query':'a','app_id':['b']} | app_id is not",
        "{'query':'a','level':{}} | level is neither",
        "{'query':'a','level':{'a':'INFO'}} | level is neither",
        "{'query':'a','level':9} | level is neither",
        "{'query':'a','level':[9]} | level is neither",
        "{'query':'a','level':['INFO',null]} | level is neither",
        "{'query':'a','level':[['INFO']]} | level is neither",
        "{'query':'a','level':'LOUD'} | level is not one of",
        "{'query':'a','level':''} | level is not one of",
        "{'query':'a','level':['INFO','LOUD']} | level is not one of",
        "{'query':'a','time_range':'today'} | time_range is not an object",
        "{'query':'a','time_range':5} | time_range is not an object",
        "{'query':'a','time_range':['2021-05-06']} | time_range is not an object",
        "{'query':'a','time_range':{'start':'yesterday'}} | time_range.start is neither",
        "{'query':'a','time_range':{'start':''}} | time_range.start is neither",
        "{'query':'a','time_range':{'start':{}}} | time_range.start is neither",
        "{'query':'a','time_range':{'start':-1}} | time_range.start is before 1970",
        "{'query':'a','time_range':{'end':true}} | time_range.end is neither",
        "{'query':'a','time_range':{'end':1e999}} | time_range.end is",
      })
  void search_invalidField_isRejectedNamingTheField(String body, String message) {
    var response = post(body.replace('\'', '"'));

    assertThat(response.statusCode()).as(response.body()).isEqualTo(400);
    assertThat(Gateway.json(response).path("success").asBoolean(true)).isFalse();
    assertThat(Gateway.json(response).path("message").asString()).startsWith(message);
  }

  @Test
  void search_tooLong_isRejected() {
    assertThat(post("{\"query\":\"" + "a".repeat(1001) + "\"}").statusCode()).isEqualTo(400);

    var response = post("{\"query\":\"" + "a".repeat(100_000) + "\"}");

    assertThat(response.statusCode()).isEqualTo(413);
    assertThat(Gateway.json(response).path("success").asBoolean(true)).isFalse();
  }
}
