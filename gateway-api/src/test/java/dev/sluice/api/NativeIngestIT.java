package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** Tests {@code POST /api/v1/logs} from the socket of the client to the row in the table. */
class NativeIngestIT {
  private static final String JSON = "application/json";
  private static final String NDJSON = "application/x-ndjson";

  private final Gateway gateway = Gateway.shared();

  @Test
  void post_objectWithEveryField_everyFieldIsStored() {
    var service = Gateway.service("native");

    var response =
        gateway.postLogs(
            """
            {"timestamp":"2024-05-06T09:08:09.012345678+02:00",
             "observed_timestamp":1714979290000,
             "severity":"notice",
             "service":"%s","host":"web-1",
             "resource":{"region":"eu","replicas":3},
             "scope":{"name":"orders","version":"2","attributes":{"a":true}},
             "trace_id":"5B8EFFF798038103D269B633813FC60C","span_id":"eee19b7ec3c1b174","flags":769,
             "event_name":"order.placed",
             "body":{"total":12.5,"items":["a",null,{"b":1}]},
             "attributes":{"text":"t","int":9007199254740993,"big":123456789012345678901234567890,
               "float":1e3,"bool":false,"null":null,"list":[1,"x"],"map":{"k":"v"}},
             "unheard_of":{"deep":[1,2]}}"""
                .formatted(service));

    assertThat(response.statusCode()).isEqualTo(202);
    assertThat(response.headers().firstValue("sluice-ack")).hasValue("durable");
    assertThat(response.body()).isEqualTo("{\"accepted\":1,\"rejected\":[],\"ack\":\"durable\"}");
    var row = gateway.awaitStored(service, 1).getFirst();
    assertThat(row.get("Timestamp").asLong()).isEqualTo(1_714_979_289_012_345_678L);
    assertThat(row.get("ObservedTimestamp").asLong()).isEqualTo(1_714_979_290_000_000_000L);
    assertThat(row.get("ReceivedTimestamp").asLong() / 1e9)
        .isCloseTo(Instant.now().getEpochSecond(), within(60.0));
    assertThat(row.get("SeverityNumber").asInt()).isEqualTo(10);
    assertThat(row.get("SeverityText").asString()).isEqualTo("notice");
    assertThat(row.get("Body").asString())
        .isEqualTo("{\"items\":[\"a\",null,{\"b\":1}],\"total\":12.5}");
    assertThat(row.get("TraceId").asString()).isEqualTo("5b8efff798038103d269b633813fc60c");
    assertThat(row.get("SpanId").asString()).isEqualTo("eee19b7ec3c1b174");
    assertThat(row.get("Flags").asInt()).isEqualTo(769);
    assertThat(row.get("EventName").asString()).isEqualTo("order.placed");
    assertThat(row.get("ScopeName").asString()).isEqualTo("orders");
    assertThat(row.get("ScopeVersion").asString()).isEqualTo("2");
    assertThat(row.get("ScopeAttributes").get("a").asString()).isEqualTo("true");
    var resource = row.get("ResourceAttributes");
    assertThat(resource.get("host.name").asString()).isEqualTo("web-1");
    assertThat(resource.get("region").asString()).isEqualTo("eu");
    assertThat(resource.get("replicas").asString()).isEqualTo("3");
    var attributes = row.get("LogAttributes");
    assertThat(attributes.size()).isEqualTo(8);
    assertThat(attributes.get("int").asString()).isEqualTo("9007199254740993");
    assertThat(attributes.get("big").asString()).isEqualTo("123456789012345678901234567890");
    assertThat(attributes.get("float").asString()).isEqualTo("1000");
    assertThat(attributes.get("bool").asString()).isEqualTo("false");
    assertThat(attributes.get("null").asString()).isEmpty();
    assertThat(attributes.get("list").asString()).isEqualTo("[1,\"x\"]");
    assertThat(attributes.get("map").asString()).isEqualTo("{\"k\":\"v\"}");
  }

  @Test
  void post_arrayWithInvalidRows_validAreStoredOnceAndEachInvalidIsRejected() {
    var service = Gateway.service("mixed");

    var response =
        gateway.postLogs(
            """
            [{"service":"%1$s","body":"0"},
             {"service":"%1$s","body":"1","severity":"loud"},
             {"service":"%1$s","body":"2"},
             {"service":"%1$s"},
             {"service":"%1$s","body":"4","timestamp":"1969-12-31T23:59:59Z"},
             {"service":"%1$s","body":"%2$s"},
             {"service":"%1$s","body":"6"}]"""
                .formatted(service, "x".repeat((1 << 20) + 1)));

    assertThat(response.statusCode()).isEqualTo(202);
    var body = Gateway.json(response);
    assertThat(body.get("accepted").asInt()).isEqualTo(3);
    assertThat(body.get("rejected"))
        .extracting(NativeIngestIT::format)
        .containsExactly("1 severity", "3 body", "4 timestamp", "5 body");
    assertThat(body.get("rejected"))
        .extracting(v -> v.get("reason").asString())
        .allSatisfy(reason -> assertThat(reason).isNotBlank().doesNotContain("loud", "xxx"));
    assertThat(gateway.awaitStored(service, 3))
        .extracting(row -> row.get("Body").asString())
        .containsExactly("0", "2", "6");
  }

  @Test
  void postNdjson_blankLinesAndBadRows_indexCountsRowsOnly() {
    var service = Gateway.service("lines");

    var response =
        gateway.post(
            gateway.http("/api/v1/logs"),
            NDJSON,
            """

            {"service":"%1$s","body":"a"}\r
            \t
            {"service":"%1$s","body":"b","severity":25}

            {"service":"%1$s","body":"c"}"""
                .formatted(service)
                .getBytes(UTF_8));

    assertThat(response.statusCode()).isEqualTo(202);
    assertThat(Gateway.json(response).get("rejected"))
        .extracting(NativeIngestIT::format)
        .containsExactly("1 severity");
    gateway.awaitStored(service, 2);
  }

  @ParameterizedTest
  @CsvSource({
    "application/json, gzip",
    "application/json;charset=UTF-8, zstd",
    "application/x-ndjson, deflate",
    "application/ndjson, identity",
    "application/jsonl, x-gzip",
    "application/json, snappy",
    "application/json, x-snappy-framed",
    "application/json, 'identity, gzip'",
  })
  void post_compressed_isStored(String type, String encoding) {
    var service = Gateway.service("packed");
    var body = "{\"service\":\"%s\",\"body\":\"b\"}".formatted(service).getBytes(UTF_8);
    var packed = CompressedBodies.as(encoding.replace("identity, ", ""), body);

    var response =
        gateway.post(gateway.http("/api/v1/logs"), type, packed, "Content-Encoding", encoding);

    assertThat(response.statusCode()).isEqualTo(202);
    gateway.awaitStored(service, 1);
  }

  @ParameterizedTest
  @CsvSource({
    "1700000000, 1700000000000000000",
    "1700000000.25, 1700000000250000000",
    "1700000000123, 1700000000123000000",
    "1700000000123456, 1700000000123456000",
    "1700000000123456789, 1700000000123456789",
    "9223372036854775807, 9223372036854775807",
    "'\"2262-04-11T23:47:16.854775807Z\"', 9223372036854775807",
    "'\"1970-01-01T00:00:00.000000001Z\"', 1",
  })
  void post_timestamp_keepsNanosecondPrecision(String timestamp, long nanos) {
    var service = Gateway.service("time");

    var response =
        gateway.postLogs(
            "{\"service\":\"%s\",\"body\":\"b\",\"timestamp\":%s}".formatted(service, timestamp));

    assertThat(response.statusCode()).isEqualTo(202);
    var row = gateway.awaitStored(service, 1).getFirst();
    assertThat(row.get("Timestamp").asLong()).isEqualTo(nanos);
    assertThat(row.get("ReceivedTimestamp").asLong()).isNotEqualTo(nanos);
  }

  @Test
  void post_anyUnicodeAndNul_roundTrips() {
    var service = Gateway.service("unicode");
    var text = "nul \\u0000, tab \\t, \\ud83d\\ude00, 漢字, \\\"quoted\\\" \\\\ \\u2028";
    var expected = "nul \u0000, tab \t, \ud83d\ude00, 漢字, \"quoted\" \\ \u2028";

    var response =
        gateway.postLogs(
            "{\"service\":\"%s\",\"body\":\"%s\",\"attributes\":{\"%s\":\"%s\"}}"
                .formatted(service, text, text, text));

    assertThat(response.statusCode()).isEqualTo(202);
    var row = gateway.awaitStored(service, 1).getFirst();
    assertThat(row.get("Body").asString()).isEqualTo(expected);
    assertThat(row.get("LogAttributes").get(expected).asString()).isEqualTo(expected);
    var read = gateway.get(gateway.http("/api/v1/logs?service=" + service));
    var log = Gateway.json(read).get("logs").get(0);
    assertThat(log.get("body").asString()).isEqualTo(expected);
    assertThat(log.get("attributes").get(expected).asString()).isEqualTo(expected);
  }

  @ParameterizedTest
  @ValueSource(strings = {"accepted", "durable", "stored"})
  void post_ackLevelRequested_reachedLevelIsReturned(String level) {
    var body = "{\"service\":\"ack\",\"body\":\"b\"}".getBytes(UTF_8);

    var response = gateway.post(gateway.http("/api/v1/logs"), JSON, body, "sluice-ack", level);

    assertThat(response.statusCode()).isEqualTo(202);
    assertThat(response.headers().firstValue("sluice-ack")).hasValue(level);
    assertThat(Gateway.json(response).get("ack").asString()).isEqualTo(level);
  }

  @Test
  void post_unknownAckLevel_isRejected() {
    var service = Gateway.service("ack");
    var body = "{\"service\":\"%s\",\"body\":\"b\"}".formatted(service).getBytes(UTF_8);

    var response = gateway.post(gateway.http("/api/v1/logs"), JSON, body, "sluice-ack", "safe");

    assertThat(response.statusCode()).isEqualTo(400);
    gateway.postLogs("{\"service\":\"%s\",\"body\":\"after\"}".formatted(service));
    gateway.awaitStored(service, 1);
  }

  private static String format(JsonNode verdict) {
    return verdict.get("index").asInt() + " " + verdict.get("field").asString();
  }
}
