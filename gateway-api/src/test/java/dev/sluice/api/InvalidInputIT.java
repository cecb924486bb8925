package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.google.protobuf.ByteString;
import com.google.rpc.Status;
import com.sun.management.ThreadMXBean;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceResponse;
import io.opentelemetry.proto.logs.v1.LogRecord;
import java.io.ByteArrayOutputStream;
import java.lang.management.ManagementFactory;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.databind.json.JsonMapper;

/**
 * Checks every client error: the response is correct, nothing is stored, the memory is released,
 * and the gateway accepts the next request.
 */
class InvalidInputIT {
  private static final String JSON = "application/json";
  private static final String NDJSON = "application/x-ndjson";
  private static final String PROTOBUF = "application/x-protobuf";
  private static final int LIMIT = 64 << 20;

  private final Gateway gateway = Gateway.shared();
  private final String service = Gateway.service("bad");
  private int stored;

  /** A log that is accepted last is stored after all other accepted logs. */
  @AfterEach
  void assertOnlyExpectedLogsStoredAndNextRequestSucceeds() {
    var next = gateway.postLogs("{\"service\":\"%s\",\"body\":\"next\"}".formatted(service));

    assertThat(next.statusCode()).isEqualTo(202);
    gateway.awaitStored(service, stored + 1);
    assertThat(gateway.inFlight()).isZero();
  }

  private String good(String body) {
    return "{\"service\":\"%s\",\"body\":\"%s\"}".formatted(service, body);
  }

  private HttpResponse<String> postNative(String type, byte[] body, String... headers) {
    return gateway.post(gateway.http("/api/v1/logs"), type, body, headers);
  }

  private static void assertProblem(HttpResponse<String> response, int status, String detail) {
    assertThat(response.statusCode()).isEqualTo(status);
    assertThat(response.headers().firstValue("Content-Type")).hasValue("application/problem+json");
    var problem = Gateway.json(response);
    assertThat(problem.get("type").asString()).startsWith("/api/problems/");
    assertThat(problem.get("title").asString()).isNotBlank();
    assertThat(problem.get("status").asInt()).isEqualTo(status);
    assertThat(problem.get("detail").asString()).contains(detail);
  }

  @ParameterizedTest
  @CsvSource({
    "text/plain, content type",
    "application/xml, content type",
    "application/octet-stream, content type",
    "nonsense, content type",
    "application/json;charset=ISO-8859-1, charset",
  })
  void postNative_otherContentType_is415(String type, String detail) {
    assertProblem(postNative(type, good("x").getBytes(UTF_8)), 415, detail);
  }

  @Test
  void postNative_noContentType_is415() {
    var request =
        HttpRequest.newBuilder(gateway.http("/api/v1/logs"))
            .POST(BodyPublishers.ofString(good("x")))
            .build();

    assertProblem(Gateway.send(request, BodyHandlers.ofString()), 415, "content type is missing");
  }

  @ParameterizedTest
  @CsvSource({"br", "compress", "'gzip, gzip'", "aws-chunked"})
  void post_otherContentEncoding_is415(String encoding) throws Exception {
    var body = good("x").getBytes(UTF_8);

    var response = postNative(JSON, body, "Content-Encoding", encoding);

    assertProblem(response, 415, "content encoding");
    assertThat(response.headers().firstValue("Accept-Encoding").orElseThrow())
        .contains("gzip", "zstd", "snappy");
    assertThat(otlp(body, 415, "Content-Encoding", encoding).getCode()).isEqualTo(12);
  }

  @Test
  void post_twoContentEncodingHeaders_is415() {
    var response =
        postNative(
            JSON,
            CompressedBodies.gzip(CompressedBodies.gzip(good("x").getBytes(UTF_8))),
            "Content-Encoding",
            "gzip",
            "Content-Encoding",
            "gzip");

    assertProblem(response, 415, "more than one");
  }

  @Test
  void postOtlp_otherContentType_is415InJson() {
    var response = gateway.post(gateway.otlp("/v1/logs"), "text/plain", new byte[] {1});

    assertThat(response.statusCode()).isEqualTo(415);
    assertThat(Gateway.json(response).get("code").asInt()).isEqualTo(12);
  }

  static Stream<Arguments> malformed() {
    return Stream.of(
        Arguments.of(JSON, "{\"body\":\"x\"", "line 1, column"),
        Arguments.of(JSON, "[{\"body\":\"x\"},\n  {\"a\":}]", "line 2, column 8"),
        Arguments.of(JSON, "{\"body\":\"x\"} {\"body\":\"y\"}", "line 1, column"),
        Arguments.of(JSON, "\"text\"", "neither a JSON object nor an array"),
        Arguments.of(JSON, "nonsense", "line 1, column 1"),
        Arguments.of(JSON, "{'body':'x'}", "line 1, column 2"),
        Arguments.of(JSON, "{\"body\":NaN}", "line 1, column"),
        Arguments.of(JSON, "{\"body\":\"a\nb\"}", "line 1, column"),
        Arguments.of(JSON, "{\"body\":" + "[".repeat(20_000), "malformed JSON"),
        Arguments.of(NDJSON, "{\"body\":\"x\"}\n\n{\"body\":\"y\"\n", "line 3, column"),
        Arguments.of(NDJSON, "{\"body\":\"x\"} {\"body\":\"y\"}\n", "line 1, column"),
        Arguments.of(NDJSON, "{\"body\":\"x\"}\n{\"body\":\n\"y\"}\n", "line 2, column"));
  }

  @ParameterizedTest
  @MethodSource("malformed")
  void postNative_malformed_is400WithTheOffset(String type, String body, String place) {
    var named = body.replace("{\"body\"", "{\"service\":\"" + service + "\",\"body\"");

    var response = postNative(type, named.getBytes(UTF_8));

    assertProblem(response, 400, place);
  }

  @ParameterizedTest
  @CsvSource({
    "application/json, ''",
    "application/json, ' '",
    "application/json, []",
    "application/x-ndjson, ''",
  })
  void postNative_empty_is400(String type, String body) {
    assertProblem(postNative(type, body.getBytes(UTF_8)), 400, "no logs in the request");
  }

  @Test
  void postNative_allRowsInvalid_is400WithAllRejections() {
    var response = postNative(JSON, "[1,\"a\",null,[{}],{}]".getBytes(UTF_8));

    assertProblem(response, 400, "all 5 logs were rejected");
    assertThat(Gateway.json(response).get("rejected").size()).isEqualTo(5);
  }

  @ParameterizedTest
  @CsvSource({"gzip", "zstd", "snappy", "deflate"})
  void post_bodyNotOfItsEncoding_is400(String encoding) throws Exception {
    var body = good("x").getBytes(UTF_8);

    assertProblem(postNative(JSON, body, "Content-Encoding", encoding), 400, encoding);
    assertThat(otlp(body, 400, "Content-Encoding", encoding).getCode()).isEqualTo(3);
  }

  @Test
  void post_truncatedCompressedBody_is400() {
    var packed = CompressedBodies.gzip(good("x".repeat(1000)).getBytes(UTF_8));

    for (int length = 1; length < packed.length; length++) {
      var torn = Arrays.copyOf(packed, length);
      assertProblem(postNative(NDJSON, torn, "Content-Encoding", "gzip"), 400, "gzip");
    }
  }

  @Test
  void postOtlp_malformed_is400() throws Exception {
    var whole = Otlp.request(service, "x", "y").toByteArray();

    assertThat(otlp(Arrays.copyOf(whole, whole.length - 1), 400).getMessage())
        .startsWith("malformed OTLP");
    assertThat(otlp(good("x").getBytes(UTF_8), 400).getCode()).isEqualTo(3);
  }

  @ParameterizedTest
  @CsvSource({
    "/api/v1/logs, PUT, 'GET, POST'",
    "/api/v1/logs, DELETE, 'GET, POST'",
    "/api/v1/logs, PATCH, 'GET, POST'",
    "/v1/logs, GET, POST",
    "/v1/logs, PUT, POST",
  })
  void request_wrongMethod_is405WithAllowHeader(String path, String method, String allow) {
    var request =
        HttpRequest.newBuilder(gateway.http(path))
            .header("Content-Type", JSON)
            .method(
                method,
                method.equals("GET") ? BodyPublishers.noBody() : BodyPublishers.ofString(good("x")))
            .build();

    var response = Gateway.send(request, BodyHandlers.ofString());

    assertProblem(response, 405, allow);
    assertThat(response.headers().firstValue("Allow")).hasValue(allow);
  }

  @Test
  void request_unknownPath_is404() {
    assertProblem(gateway.get(gateway.http("/api/v2/logs")), 404, "no resource has this path");
  }

  @Test
  void post_moreRecordsThanTheLimit_is413() throws Exception {
    var rows = ("{\"service\":\"" + service + "\",\"body\":\"\"}\n").repeat(200_001);
    var logs = new LogRecord[200_001];
    Arrays.fill(logs, Otlp.log("x"));

    assertProblem(postNative(NDJSON, rows.getBytes(UTF_8)), 413, "200000 log records");
    assertThat(otlp(Otlp.request(service, logs).toByteArray(), 413).getCode()).isEqualTo(8);
  }

  @Test
  void post_resourceThatMultiplies_is413() throws Exception {
    var request = Otlp.request(service, "x").toBuilder();
    var resource = request.getResourceLogsBuilder(0);
    for (int i = 0; i < 5; i++) {
      resource
          .getResourceBuilder()
          .addAttributes(Otlp.attribute("k" + i, Otlp.text("v".repeat(60_000))));
    }
    var logs = new LogRecord[1000];
    Arrays.fill(logs, Otlp.log("x"));
    resource.getScopeLogsBuilder(0).addAllLogRecords(Arrays.asList(logs));

    assertThat(otlp(request.build().toByteArray(), 413).getMessage()).contains("resource");
  }

  @Test
  void post_chunkedBodyOverTheLimit_is413() {
    var block = new byte[1 << 20];
    Arrays.fill(block, (byte) ' ');
    var body = BodyPublishers.ofByteArrays(() -> Stream.generate(() -> block).limit(65).iterator());
    assertThat(body.contentLength()).isNegative();
    var request =
        HttpRequest.newBuilder(gateway.http("/api/v1/logs"))
            .header("Content-Type", JSON)
            .POST(body)
            .build();

    assertProblem(Gateway.send(request, BodyHandlers.ofString()), 413, "limit of 67108864 bytes");
  }

  @ParameterizedTest
  @CsvSource({"gzip", "zstd", "snappy", "x-snappy-framed"})
  void post_decompressionBombs_are413InBoundedMemory(String encoding) throws Exception {
    var bomb =
        switch (encoding) {
          case "gzip" -> CompressedBodies.gzipBomb(400);
          case "zstd" -> CompressedBodies.zstdBomb(400);
          case "snappy" -> CompressedBodies.snappy(new byte[400 << 20]);
          default -> CompressedBodies.snappyFramedBomb(400);
        };
    var heap = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    assertThat(bomb).hasSizeLessThan(32 << 20);

    long before = heap.getTotalThreadAllocatedBytes();
    var response = postNative(JSON, bomb, "Content-Encoding", encoding);
    long cost = heap.getTotalThreadAllocatedBytes() - before;

    assertProblem(response, 413, "limit of 67108864 bytes");
    // the final array and the array from which it was grown
    assertThat(cost).isLessThan(3L * LIMIT);
    assertThat(otlp(bomb, 413, "Content-Encoding", encoding).getCode()).isEqualTo(8);
  }

  @Test
  void post_concurrentDecompressionBombs_memoryStaysWithinBudget() {
    var bomb = CompressedBodies.gzipBombOfManyMembers(400);
    var request =
        Gateway.postRequest(gateway.http("/api/v1/logs"), JSON, bomb, "Content-Encoding", "gzip");

    var answers =
        IntStream.range(0, 16)
            .mapToObj(
                _ ->
                    CompletableFuture.supplyAsync(
                        () -> Gateway.send(request, BodyHandlers.ofString())))
            .toList();
    var most = new AtomicLong();
    await()
        .pollInterval(Duration.ofMillis(1))
        .atMost(Duration.ofSeconds(30))
        .until(
            () -> {
              most.accumulateAndGet(gateway.inFlight(), Math::max);
              return answers.stream().allMatch(CompletableFuture::isDone);
            });

    assertThat(most.get()).isPositive().isLessThanOrEqualTo(256L << 20);
    assertThat(answers)
        .extracting(response -> response.join().statusCode())
        .allSatisfy(status -> assertThat(status).isIn(413, 503));
  }

  private static final String LONG_NAME = "x".repeat(1025);

  static Stream<Arguments> badRows() {
    return Stream.of(
        row("severity", "\"severity\":\"loud\""),
        row("severity", "\"severity\":25"),
        row("severity", "\"severity\":[1]"),
        row("severity_number", "\"severity_number\":-1"),
        row("severity_number", "\"severity_number\":99999999999999999999"),
        row("severity_text", "\"severity_text\":\"" + LONG_NAME + "\""),
        row("timestamp", "\"timestamp\":\"1969-12-31T23:59:59.999999999Z\""),
        row("timestamp", "\"timestamp\":-1"),
        row("timestamp", "\"timestamp\":\"2262-04-11T23:47:16.854775808Z\""),
        row("timestamp", "\"timestamp\":9223372036854775808"),
        row("timestamp", "\"timestamp\":1e999999999"),
        row("timestamp", "\"timestamp\":1e99999999999"),
        row("timestamp", "\"timestamp\":1" + "0".repeat(100_000)),
        row("timestamp", "\"timestamp\":{\"seconds\":1}"),
        row("observed_timestamp", "\"observed_timestamp\":true"),
        row("trace_id", "\"trace_id\":\"abc\""),
        row("trace_id", "\"trace_id\":\"" + "z".repeat(32) + "\""),
        row("span_id", "\"span_id\":\"" + "0".repeat(32) + "\""),
        row("flags", "\"flags\":4294967296"),
        row("event_name", "\"event_name\":\"" + LONG_NAME + "\""),
        row("resource.host.name", "\"host\":\"" + "h".repeat(65_537) + "\""),
        row("resource", "\"resource\":[]"),
        row("resource.big", "\"resource\":{\"big\":\"" + "v".repeat(65_537) + "\"}"),
        row("scope", "\"scope\":\"orders\""),
        row("scope.name", "\"scope\":{\"name\":\"" + LONG_NAME + "\"}"),
        row("body", "\"body\":\"" + "b".repeat((1 << 20) + 1) + "\""),
        row("body", "\"body\":\"lone \\ud800 surrogate\""),
        row("body", "\"body\":\"lone \\udc00\""),
        row("body", "\"body\":" + "[".repeat(1000) + "]".repeat(1000)),
        row("body", "\"body\":" + "{\"a\":".repeat(1000) + "1" + "}".repeat(1000)),
        row("attributes", "\"attributes\":\"text\""),
        row("attributes", "\"attributes\":{" + members(10_000) + "}"),
        row("attributes", "\"attributes\":{\"" + "k".repeat(257) + "\":1}"),
        row("attributes.v", "\"attributes\":{\"v\":\"" + "v".repeat(65_537) + "\"}"),
        row("attributes.d", "\"attributes\":{\"d\":" + "[".repeat(33) + "]".repeat(33) + "}"),
        row("attributes.s", "\"attributes\":{\"s\":\"\\udfff\"}"));
  }

  private static String members(int count) {
    return String.join(
        ",", IntStream.range(0, count).mapToObj(i -> "\"k" + i + "\":" + i).toList());
  }

  private static Arguments row(String field, String member) {
    return Arguments.argumentSet(
        field + " " + member.substring(0, Math.min(member.length(), 60)), field, member);
  }

  @ParameterizedTest
  @MethodSource("badRows")
  void postNative_invalidRowAmongValidOnes_isRejectedAndTheOthersAreStored(
      String field, String member) {
    var bad = "{\"service\":\"%s\",\"body\":\"bad\",%s}".formatted(service, member);

    var response =
        postNative(JSON, "[%s,%s,%s]".formatted(good("a"), bad, good("c")).getBytes(UTF_8));

    assertOneRejected(response, field);
  }

  @Test
  void postNative_rowWithInvalidUtf8_isRejectedAndTheOthersAreStored() {
    var body = new ByteArrayOutputStream();
    body.writeBytes((good("a") + "\n").getBytes(UTF_8));
    body.writeBytes("{\"service\":\"%s\",\"body\":\"".formatted(service).getBytes(UTF_8));
    body.writeBytes(new byte[] {'b', (byte) 0xC0, (byte) 0x80, (byte) 0xFF});
    body.writeBytes(("\"}\n" + good("c")).getBytes(UTF_8));

    assertOneRejected(postNative(NDJSON, body.toByteArray()), "body");
  }

  private void assertOneRejected(HttpResponse<String> response, String field) {
    assertThat(response.statusCode()).isEqualTo(202);
    var body = Gateway.json(response);
    assertThat(body.get("accepted").asInt()).isEqualTo(2);
    assertThat(body.get("rejected").size()).isEqualTo(1);
    var verdict = body.get("rejected").get(0);
    assertThat(verdict.get("index").asInt()).isEqualTo(1);
    assertThat(verdict.get("field").asString()).isEqualTo(field);
    assertThat(verdict.get("reason").asString()).isNotBlank();
    stored = 2;
  }

  static Stream<Arguments> badRecords() {
    var deep = Otlp.text("x");
    for (int i = 0; i < 1000; i++) {
      deep = Otlp.list(deep);
    }
    var many = LogRecord.newBuilder();
    for (int i = 0; i < 10_000; i++) {
      many.addAttributes(Otlp.attribute("k" + i, Otlp.integer(i)));
    }
    return Stream.of(
        Arguments.of("time_unix_nano", LogRecord.newBuilder().setTimeUnixNano(-1)),
        Arguments.of("observed_time_unix_nano", LogRecord.newBuilder().setObservedTimeUnixNano(-1)),
        Arguments.of("severity_number", LogRecord.newBuilder().setSeverityNumberValue(25)),
        Arguments.of("severity_text", LogRecord.newBuilder().setSeverityText(LONG_NAME)),
        Arguments.of("body", LogRecord.newBuilder().setBody(Otlp.text("b".repeat(1_048_577)))),
        Arguments.of("body", LogRecord.newBuilder().setBody(deep)),
        Arguments.of("attributes", many),
        Arguments.of(
            "trace_id", LogRecord.newBuilder().setTraceId(ByteString.copyFrom(new byte[15]))),
        Arguments.of("event_name", LogRecord.newBuilder().setEventName(LONG_NAME)));
  }

  private Status otlp(byte[] body, int expected, String... headers) throws Exception {
    var response =
        Gateway.send(
            Gateway.postRequest(gateway.otlp("/v1/logs"), PROTOBUF, body, headers),
            BodyHandlers.ofByteArray());
    assertThat(response.statusCode()).isEqualTo(expected);
    assertThat(response.headers().firstValue("Content-Type")).hasValue(PROTOBUF);
    return Status.parseFrom(response.body());
  }

  @ParameterizedTest
  @MethodSource("badRecords")
  void postOtlp_invalidRecordAmongValidOnes_isPartialSuccess(String field, LogRecord.Builder bad)
      throws Exception {
    var request = Otlp.request(service, Otlp.log("a"), bad.build(), Otlp.log("c"));

    assertOneRejected(request.toByteArray(), field);
  }

  @Test
  void postOtlp_recordWithInvalidUtf8_isPartialSuccess() throws Exception {
    var bytes = Otlp.request(service, "a", "b\u0001\u0002", "c").toByteArray();
    for (int i = 0; i + 1 < bytes.length; i++) {
      if (bytes[i] == 1 && bytes[i + 1] == 2) {
        bytes[i] = (byte) 0xC0;
        bytes[i + 1] = (byte) 0x80;
      }
    }

    assertOneRejected(bytes, "body is not valid UTF-8");
  }

  private void assertOneRejected(byte[] request, String message) throws Exception {
    var response =
        Gateway.send(
            Gateway.postRequest(gateway.http("/v1/logs"), PROTOBUF, request),
            BodyHandlers.ofByteArray());
    assertThat(response.statusCode()).isEqualTo(200);
    var partial = ExportLogsServiceResponse.parseFrom(response.body()).getPartialSuccess();
    assertThat(partial.getRejectedLogRecords()).isEqualTo(1);
    assertThat(partial.getErrorMessage()).contains("[1] " + message);
    stored = 2;
  }

  static Stream<String> badOtlpJson() {
    return Stream.of(
        "{\"timeUnixNano\":1e999999999}",
        "{\"timeUnixNano\":\"1e-999999999\"}",
        "{\"timeUnixNano\":\"" + "9".repeat(1_000_000) + "\"}",
        "{\"severityNumber\":\"LOUD\"}",
        "{\"traceId\":\"zz\"}",
        "{\"body\":\"text\"}",
        "{\"attributes\":{}}");
  }

  @ParameterizedTest
  @MethodSource("badOtlpJson")
  void postOtlpJson_notOtlpMapping_is400WithTheOffset(String log) {
    var body =
        """
        {"resourceLogs":[{"resource":{"attributes":[
          {"key":"service.name","value":{"stringValue":%s}}]},
          "scopeLogs":[{"logRecords":[
        %s]}]}]}"""
            .formatted(new JsonMapper().writeValueAsString(service), log);

    var response = gateway.post(gateway.otlp("/v1/logs"), JSON, body.getBytes(UTF_8));

    assertThat(response.statusCode()).isEqualTo(400);
    var status = Gateway.json(response);
    assertThat(status.get("code").asInt()).isEqualTo(3);
    assertThat(status.get("message").asString()).contains("line 4, column ");
  }
}
