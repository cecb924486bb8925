package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.proto.logs.LogEntry;
import dev.sluice.proto.logs.LogEntryBatch;
import dev.sluice.proto.logs.LogLevel;
import java.net.URLEncoder;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/**
 * Tests {@code POST /api/logs} and {@code GET /api/logs/{app_id}} with the requests of legacy
 * clients.
 */
class LegacyLogsIT {
  private static final String JSON = "application/json";
  private static final String PROTOBUF = "application/x-protobuf";
  private static final String BATCH = "application/x-protobuf-batch";

  private final Gateway gateway = Gateway.shared();

  private HttpResponse<String> post(String json) {
    return post(JSON, json.getBytes(UTF_8));
  }

  private HttpResponse<String> post(String type, byte[] body, String... headers) {
    return gateway.post(gateway.http("/api/logs"), type, body, headers);
  }

  private HttpResponse<String> get(String appId, String query) {
    return gateway.get(
        gateway.http(
            "/api/logs/" + URLEncoder.encode(appId, UTF_8).replace("+", "%20") + "?" + query));
  }

  private JsonNode page(String appId, String query) {
    var response = get(appId, query);
    assertThat(response.statusCode()).as(response.body()).isEqualTo(200);
    var body = Gateway.json(response);
    assertThat(body.get("success").asBoolean()).isTrue();
    return body.get("data");
  }

  private static List<JsonNode> logs(JsonNode data) {
    return StreamSupport.stream(data.get("logs").spliterator(), false).toList();
  }

  private static String log(String appId, String message) {
    return "{\"app_id\":\"%s\",\"level\":\"INFO\",\"message\":\"%s\",\"source\":\"s\"}"
        .formatted(appId, message);
  }

  private static LogEntry.Builder entry(String appId, String message) {
    return LogEntry.newBuilder()
        .setAppId(appId)
        .setLevel(LogLevel.WARN)
        .setMessage(message)
        .setSource("s");
  }

  private static void assertRefused(HttpResponse<String> response, int status, String message) {
    assertThat(response.statusCode()).as(response.body()).isEqualTo(status);
    assertThat(response.headers().firstValue("Content-Type")).hasValue(JSON);
    var body = Gateway.json(response);
    assertThat(body.get("success").asBoolean()).isFalse();
    assertThat(body.get("message").asString()).contains(message);
  }

  @Test
  void post_objectWithEveryField_isStoredAsAnyLogAndReadBackAsItWasSent() {
    var app = Gateway.service("app");

    var response =
        post(
            """
            {"id":"order-7","app_id":"%s","timestamp":"2024-05-06T07:08:09.012345678Z",
             "level":" error ","message":"card \\"declined\\"","source":"web-1",
             "environment":"staging","user_id":"u-1",
             "trace_id":"5B8EFFF7-9803-8103-D269-B633813FC60C",
             "metadata":{"total":12.5,"items":["a",{"b":1}],"source":"theirs","zone":"eu"}}"""
                .formatted(app));

    assertThat(response.statusCode()).isEqualTo(202);
    assertThat(response.headers().firstValue("sluice-ack")).hasValue("durable");
    assertThat(response.headers().firstValue("Content-Type")).hasValue(JSON);
    var body = Gateway.json(response);
    assertThat(body.propertyNames()).containsExactlyInAnyOrder("success", "message", "stats");
    assertThat(body.get("success").asBoolean()).isTrue();
    assertThat(body.get("message").asString()).isEqualTo("Log data accepted");
    assertThat(body.get("stats").get("accepted").asInt()).isEqualTo(1);
    assertThat(body.get("stats").get("rejected").asInt()).isZero();
    assertThat(body.get("stats").get("throughput").asString()).matches("\\d+ logs/sec");

    var row = gateway.awaitStored(app, 1).getFirst();
    assertThat(row.get("Timestamp").asLong()).isEqualTo(1_714_979_289_012_345_678L);
    assertThat(row.get("SeverityNumber").asInt()).isEqualTo(17);
    assertThat(row.get("SeverityText").asString()).isEqualTo(" error ");
    assertThat(row.get("Body").asString()).isEqualTo("card \"declined\"");
    assertThat(row.get("TraceId").asString()).isEqualTo(Otlp.TRACE_ID);
    assertThat(row.get("ResourceAttributes").get("service.name").asString()).isEqualTo(app);
    assertThat(row.get("LogAttributes").get("metadata.source").asString()).isEqualTo("theirs");

    var data = page(app, "");
    assertThat(data.propertyNames())
        .containsExactlyInAnyOrder(
            "appId",
            "count",
            "hasMore",
            "queryTime",
            "logsPerSecond",
            "timestamp",
            "filter",
            "limit",
            "logs",
            "nextCursor",
            "actualLimit");
    assertThat(data.get("appId").asString()).isEqualTo(app);
    assertThat(data.get("count").asInt()).isEqualTo(1);
    assertThat(data.get("hasMore").asBoolean()).isFalse();
    assertThat(data.get("filter").get("app_id").asString()).isEqualTo(app);
    assertThat(data.get("limit").asInt()).isEqualTo(1000);
    assertThat(data.get("actualLimit").asInt()).isEqualTo(1);
    assertThat(data.get("nextCursor").isNull()).isTrue();
    assertThat(logs(data))
        .containsExactly(
            Gateway.json(
                """
                {"id":"order-7","app_id":"%s","timestamp":"2024-05-06T07:08:09.012345678Z",
                 "level":"ERROR","message":"card \\"declined\\"","source":"web-1",
                 "environment":"staging",
                 "metadata":{"items":"[\\"a\\",{\\"b\\":1}]","source":"theirs","total":"12.5",
                   "zone":"eu"},
                 "trace_id":"5B8EFFF7-9803-8103-D269-B633813FC60C","user_id":"u-1"}"""
                    .formatted(app)));
  }

  @Test
  void post_arrayWithInvalidLogs_validAreStoredOnceAndEachInvalidIsRejected() {
    var app = Gateway.service("app-mixed");

    var response =
        post(
            "[%s,{\"app_id\":\"%s\",\"level\":\"loud\",\"message\":\"b\",\"source\":\"s\"},%s,%s]"
                .formatted(log(app, "a"), app, log(app, "x".repeat((1 << 20) + 1)), log(app, "d")));

    assertThat(response.statusCode()).isEqualTo(202);
    var body = Gateway.json(response);
    assertThat(body.get("success").asBoolean()).isTrue();
    assertThat(body.get("stats").get("accepted").asInt()).isEqualTo(2);
    assertThat(body.get("stats").get("rejected").asInt()).isEqualTo(2);
    assertThat(body.get("errors"))
        .extracting(e -> e.get("index").asInt() + " " + e.get("field").asString())
        .containsExactly("1 level", "2 message");
    assertThat(body.get("errors"))
        .extracting(e -> e.get("error").asString())
        .satisfiesExactly(
            level -> assertThat(level).startsWith("level is unknown").doesNotContain("loud"),
            size -> assertThat(size).startsWith("message has 1048577 bytes, limit 1048576"));
    assertThat(gateway.awaitStored(app, 2))
        .extracting(row -> row.get("Body").asString())
        .containsExactly("a", "d");
  }

  @Test
  void post_allInvalid_is400WithAtMostAHundredErrors() {
    var app = Gateway.service("app-bad");

    var response = post("[" + "{},".repeat(149) + "{\"app_id\":\"" + app + "\"}]");

    assertThat(response.statusCode()).isEqualTo(400);
    var body = Gateway.json(response);
    assertThat(body.get("success").asBoolean()).isFalse();
    assertThat(body.get("message").asString()).isEqualTo("Invalid log data");
    assertThat(body.get("errors").size()).isEqualTo(100);
    assertThat(body.get("errors").get(0))
        .isEqualTo(
            Gateway.json("{\"index\":0,\"field\":\"app_id\",\"error\":\"app_id is missing\"}"));
    assertThat(body.get("stats").get("accepted").asInt()).isZero();
    assertThat(body.get("stats").get("rejected").asInt()).isEqualTo(150);
  }

  @ParameterizedTest
  @CsvSource({JSON + ", '[]'", JSON + ", ''", BATCH + ", ''"})
  void post_empty_is400WithoutErrors(String type, String body) {
    var response = post(type, body.getBytes(UTF_8));

    assertRefused(response, 400, "Invalid log data");
    assertThat(Gateway.json(response).get("errors").size()).isZero();
  }

  @Test
  void post_protobuf_isStoredAndReadBackAsItWasSent() {
    var app = Gateway.service("app-proto");
    var entry =
        entry(app, "café")
            .setId("id-1")
            .setTimestamp(1_700_000_000_123L)
            .setEnvironment("staging")
            .putMetadata("user_id", "theirs")
            .setTraceId(Otlp.TRACE_ID)
            .setUserId("u-1")
            .build();

    assertThat(post(PROTOBUF, entry.toByteArray()).statusCode()).isEqualTo(202);

    gateway.awaitStored(app, 1);
    assertThat(logs(page(app, "")))
        .containsExactly(
            Gateway.json(
                """
                {"id":"id-1","app_id":"%s","timestamp":"2023-11-14T22:13:20.123000000Z",
                 "level":"WARN","message":"café","source":"s","environment":"staging",
                 "metadata":{"user_id":"theirs"},"trace_id":"%s","user_id":"u-1"}"""
                    .formatted(app, Otlp.TRACE_ID)));
  }

  @Test
  void post_protobufBatchOfAThousandAndABadOne_theThousandAreStored() {
    var app = Gateway.service("app-batch");
    var batch = LogEntryBatch.newBuilder();
    for (int i = 0; i < 1000; i++) {
      batch.addEntries(entry(app, "m" + i));
    }
    batch.addEntries(500, LogEntry.newBuilder().setAppId(app));

    var response =
        post(BATCH, CompressedBodies.gzip(batch.build().toByteArray()), "Content-Encoding", "gzip");

    assertThat(response.statusCode()).isEqualTo(202);
    var body = Gateway.json(response);
    assertThat(body.get("stats").get("accepted").asInt()).isEqualTo(1000);
    assertThat(body.get("errors")).hasSize(1);
    assertThat(body.get("errors").get(0).get("index").asInt()).isEqualTo(500);
    gateway.awaitStored(app, 1000);
  }

  @ParameterizedTest
  @CsvSource({
    JSON + ", '{\"app_id\":', malformed JSON",
    JSON + ", '\"text\"', neither a JSON object nor an array",
    PROTOBUF + ", abc, malformed protobuf",
    BATCH + ", abc, malformed protobuf",
  })
  void post_malformed_is400WithTheReason(String type, String body, String message) {
    assertRefused(post(type, body.getBytes(UTF_8)), 400, message);
  }

  @ParameterizedTest
  @ValueSource(strings = {"text/plain", "application/x-ndjson", "application/json;charset=latin1"})
  void post_unknownType_is415(String type) {
    assertRefused(post(type, new byte[2]), 415, type.contains("charset") ? "charset" : "type");
  }

  @Test
  void post_unknownEncoding_is415() {
    assertRefused(post(JSON, new byte[2], "Content-Encoding", "br"), 415, "encoding");
  }

  @Test
  void post_moreLogsThanTheLimit_is413() {
    assertRefused(post("[" + "{},".repeat(200_000) + "{}]"), 413, "200000 log records");
  }

  @ParameterizedTest
  @CsvSource({"durable, 202", "accepted, 202", "stored, 202", "safe, 400"})
  void post_ackLevel_isReachedOrRejected(String ack, int status) {
    var app = Gateway.service("app-ack");

    var response = post(JSON, log(app, "m").getBytes(UTF_8), "sluice-ack", ack);

    assertThat(response.statusCode()).isEqualTo(status);
    assertThat(Gateway.json(response).get("success").asBoolean()).isEqualTo(status == 202);
  }

  @Test
  void get_pages_newestFirstEachOnce() {
    var app = Gateway.service("app-pages");
    var rows = new ArrayList<String>();
    for (int i = 0; i < 25; i++) {
      rows.add(log(app, "m" + i).replace("}", ",\"timestamp\":" + (1_700_000_000 + i) + "}"));
    }
    post(rows.toString());
    gateway.awaitStored(app, 25);
    var seen = new ArrayList<String>();

    var data = page(app, "limit=10");
    while (data.get("hasMore").asBoolean()) {
      assertThat(data.get("count").asInt()).isEqualTo(10);
      logs(data).forEach(log -> seen.add(log.get("message").asString()));
      data = page(app, "limit=10&cursor=" + data.get("nextCursor").asString());
    }

    assertThat(logs(data)).hasSize(5);
    logs(data).forEach(log -> seen.add(log.get("message").asString()));
    assertThat(seen).hasSize(25).doesNotHaveDuplicates().startsWith("m24", "m23").endsWith("m0");
  }

  @Test
  void get_unknownApp_isAnEmptyPage() {
    var data = page("nobody-has-this-name", "limit=10000&unheard_of=1");

    assertThat(data.get("count").asInt()).isZero();
    assertThat(logs(data)).isEmpty();
    assertThat(data.get("limit").asInt()).isEqualTo(10_000);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"limit=0", "limit=10001", "limit=-1", "limit=1.5", "limit=x", "cursor=nonsense"})
  void get_badParameter_is400NamingIt(String query) {
    assertRefused(get("a", query), 400, query.split("=", 2)[0]);
  }

  @ParameterizedTest
  @ValueSource(strings = {"a b", "a/b", "100%", "café", "a+b", "..;x=1", "search"})
  void get_appWithAnyName_isFound(String name) {
    var app = Gateway.service(name);
    post(log(app, "m"));
    gateway.awaitStored(app, 1);

    assertThat(logs(page(app, ""))).hasSize(1);
  }

  @Test
  void get_logOfAnotherProtocol_hasTheFieldsItHas() {
    var app = Gateway.service("app-otlp");
    var _ = gateway.post(gateway.http("/v1/logs"), PROTOBUF, Otlp.everything(app).toByteArray());
    gateway.awaitStored(app, 1);

    var log = logs(page(app, "")).getFirst();

    assertThat(log.get("id").asString()).matches("[0-9a-f]{32}");
    assertThat(log.get("level").asString()).isEqualTo("ERROR");
    assertThat(log.get("source").asString()).isEmpty();
    assertThat(log.get("trace_id").asString()).isEqualTo(Otlp.TRACE_ID);
    assertThat(log.get("user_id").isNull()).isTrue();
    assertThat(log.get("metadata").get("int").asString()).isEqualTo("-9223372036854775808");
  }

  @Test
  void get_appIdTooLong_is400() {
    var response = gateway.get(gateway.http("/api/logs/" + "a".repeat(40_000)));

    assertThat(response.statusCode()).isEqualTo(400);
    assertThat(response.body()).contains("app_id");
  }
}
