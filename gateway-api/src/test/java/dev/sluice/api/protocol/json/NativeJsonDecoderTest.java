package dev.sluice.api.protocol.json;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.Rejection;
import dev.sluice.core.ingest.DecodeException;
import dev.sluice.core.ingest.OtlpPayload;
import dev.sluice.core.otlp.MalformedOtlpException;
import dev.sluice.core.otlp.OtlpRecord;
import dev.sluice.core.otlp.OtlpRecordVisitor;
import dev.sluice.core.otlp.OtlpWalker;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.logs.v1.LogRecord;
import java.io.ByteArrayOutputStream;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.function.BiFunction;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class NativeJsonDecoderTest {

  private static OtlpPayload json(String body) {
    return NativeJsonDecoder.ofJson(body.getBytes(UTF_8), Limits.DEFAULT);
  }

  private static OtlpPayload ndjson(String body) {
    return NativeJsonDecoder.ofNdjson(body.getBytes(UTF_8), Limits.DEFAULT);
  }

  private static ExportLogsServiceRequest otlp(OtlpPayload payload) {
    try {
      return ExportLogsServiceRequest.parseFrom(
          ByteString.copyFrom(payload.bytes(), 0, payload.length()));
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalArgumentException(e);
    }
  }

  private static LogRecord record(String member) {
    return otlp(json("{\"body\":\"b\"," + member + "}"))
        .getResourceLogs(0)
        .getScopeLogs(0)
        .getLogRecords(0);
  }

  private static AnyValue body(String value) {
    return otlp(json("{\"body\":" + value + "}"))
        .getResourceLogs(0)
        .getScopeLogs(0)
        .getLogRecords(0)
        .getBody();
  }

  private static List<Rejection> rejected(String member) {
    var payload = json("[{\"body\":\"good\"},{\"body\":\"bad\"," + member + "}]");
    assertThat(payload.rejectedCount()).isEqualTo(payload.rejections().size());
    return payload.rejections();
  }

  /** Returns the walker's result for each record of a decoded payload. */
  private static List<String> walked(OtlpPayload payload) throws MalformedOtlpException {
    var verdicts = new ArrayList<String>();
    new OtlpWalker(Limits.DEFAULT)
        .walk(
            payload.bytes(),
            0,
            payload.length(),
            new OtlpRecordVisitor() {
              @Override
              public void visitRecord(OtlpRecord log) {
                verdicts.add("good");
              }

              @Override
              public void visitRejected(int ordinal, String field, String reason) {
                verdicts.add(field + " " + reason);
              }
            });
    return verdicts;
  }

  private static List<String> bodies(OtlpPayload payload) {
    return otlp(payload).getResourceLogsList().stream()
        .flatMap(resource -> resource.getScopeLogsList().stream())
        .flatMap(scope -> scope.getLogRecordsList().stream())
        .map(log -> log.getBody().getStringValue())
        .toList();
  }

  private static KeyValue text(String key, String value) {
    return KeyValue.newBuilder()
        .setKey(key)
        .setValue(AnyValue.newBuilder().setStringValue(value))
        .build();
  }

  @Test
  void ofJson_everyField_isMappedToOtlp() {
    var request =
        otlp(
            json(
                """
                {"timestamp":1700000000,"observed_timestamp":"2023-11-14T22:13:21Z",
                 "severity_number":17,"severity_text":"E","service":"cart","host":"web-1",
                 "resource":{"region":"eu"},
                 "scope":{"name":"n","version":"v","attributes":{"k":"s"}},
                 "trace_id":"5B8EFFF798038103D269B633813FC60C","span_id":"EEE19B7EC3C1B174",
                 "flags":4294967295,"dropped_attributes_count":4294967295,"event_name":"e","body":"b","attributes":{"a":"x"}}"""));

    var resource = request.getResourceLogs(0);
    assertThat(resource.getResource().getAttributesList())
        .containsExactly(
            text("region", "eu"), text("service.name", "cart"), text("host.name", "web-1"));
    var scope = resource.getScopeLogs(0);
    assertThat(scope.getScope().getName()).isEqualTo("n");
    assertThat(scope.getScope().getVersion()).isEqualTo("v");
    assertThat(scope.getScope().getAttributesList()).containsExactly(text("k", "s"));
    var log = scope.getLogRecords(0);
    assertThat(log.getTimeUnixNano()).isEqualTo(1_700_000_000_000_000_000L);
    assertThat(log.getObservedTimeUnixNano()).isEqualTo(1_700_000_001_000_000_000L);
    assertThat(log.getSeverityNumberValue()).isEqualTo(17);
    assertThat(log.getSeverityText()).isEqualTo("E");
    assertThat(HexFormat.of().formatHex(log.getTraceId().toByteArray()))
        .isEqualTo("5b8efff798038103d269b633813fc60c");
    assertThat(HexFormat.of().formatHex(log.getSpanId().toByteArray()))
        .isEqualTo("eee19b7ec3c1b174");
    assertThat(log.getFlags()).isEqualTo(-1);
    assertThat(log.getEventName()).isEqualTo("e");
    assertThat(log.getBody().getStringValue()).isEqualTo("b");
    assertThat(log.getAttributesList()).containsExactly(text("a", "x"));
  }

  @ParameterizedTest
  @CsvSource({
    "'\"severity\":\"error\"', 17, error",
    "'\"severity\":\" Warning \"', 13, ' Warning '",
    "'\"severity\":\"INFO3\"', 11, INFO3",
    "'\"severity\":18', 18, ERROR2",
    "'\"severity\":0', 0, ''",
    "'\"severity_number\":9', 9, ''",
    "'\"severity\":\"error\",\"severity_text\":\"E\"', 17, E",
    "'\"severity\":null', 0, ''",
  })
  void ofJson_severity_isNumberAndText(String member, int number, String text) {
    var log = record(member);

    assertThat(log.getSeverityNumberValue()).isEqualTo(number);
    assertThat(log.getSeverityText()).isEqualTo(text);
  }

  @Test
  void ofJson_bodyOfEveryKind_isThatKind() {
    assertThat(body("\"text\"").getStringValue()).isEqualTo("text");
    assertThat(body("true").getBoolValue()).isTrue();
    assertThat(body("false").hasBoolValue()).isTrue();
    assertThat(body("7").getIntValue()).isEqualTo(7);
    assertThat(body("-9223372036854775808").getIntValue()).isEqualTo(Long.MIN_VALUE);
    assertThat(body("0.5").getDoubleValue()).isEqualTo(0.5);
    assertThat(body("-0.0").getDoubleValue()).isEqualTo(-0.0);
    assertThat(body("1e3").getDoubleValue()).isEqualTo(1000);
    assertThat(body("[1,[],{}]").getArrayValue().getValuesCount()).isEqualTo(3);
    assertThat(body("{\"k\":null}").getKvlistValue().getValues(0).getValue())
        .isEqualTo(AnyValue.getDefaultInstance());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "9223372036854775808",
        "-9223372036854775809",
        "123456789012345678901234567890",
        "1e999",
        "-1e400",
        "1e99999999999",
      })
  void ofJson_numberThatFitsNoType_keepsItsDigitsAsText(String number) {
    assertThat(body(number).getStringValue()).isEqualTo(number);
  }

  @Test
  void ofJson_veryLongNumber_keepsItsDigitsAsText() {
    var number = "7".repeat(5000);

    assertThat(body(number).getStringValue()).isEqualTo(number);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "'\"severity\":\"loud\"'            | severity           | is unknown",
        "'\"severity\":25'                  | severity           | is unknown",
        "'\"severity\":1.5'                 | severity           | must be text or a number",
        "'\"severity\":99999999999999999999'| severity           | is unknown",
        "'\"severity_number\":\"9\"'        | severity_number    | must be a number",
        "'\"severity_text\":9'              | severity_text      | must be text",
        "'\"timestamp\":-1'                 | timestamp          | is before 1970",
        "'\"timestamp\":[{\"a\":[1]}]'      | timestamp          | must be text or a number",
        "'\"timestamp\":false'              | timestamp          | must be text or a number",
        "'\"timestamp\":1e999999999'        | timestamp          | is beyond",
        "'\"observed_timestamp\":1e10'      | observed_timestamp | is beyond",
        "'\"trace_id\":\"abc\"'             | trace_id           | is not 32 hexadecimal",
        "'\"trace_id\":5'                   | trace_id           | must be text",
        "'\"span_id\":\"00\"'               | span_id            | is not 16 hexadecimal",
        "'\"flags\":-1'                     | flags              | has more than 32 bits",
        "'\"flags\":4294967296'             | flags              | has more than 32 bits",
        "'\"flags\":\"1\"'                  | flags              | must be a number",
        "'\"service\":{}'                   | service            | must be text",
        "'\"host\":1'                       | host               | must be text",
        "'\"resource\":\"r\"'               | resource           | must be an object",
        "'\"attributes\":[1]'               | attributes         | must be an object",
        "'\"scope\":[]'                     | scope              | must be an object",
        "'\"scope\":{\"name\":1}'           | scope.name         | must be text",
        "'\"scope\":{\"attributes\":1}'     | scope.attributes   | must be an object",
        "'\"event_name\":true'              | event_name         | must be text",
      })
  void ofJson_fieldOfTheWrongType_rejectsThatRow(String member, String field, String reason) {
    assertThat(rejected(member))
        .singleElement()
        .satisfies(
            verdict -> {
              assertThat(verdict.index()).isEqualTo(1);
              assertThat(verdict.field()).isEqualTo(field);
              assertThat(verdict.reason()).startsWith(reason);
            });
  }

  @Test
  void ofJson_severalErrorsInARow_reportsTheFirstAndReadsTheOtherRows() {
    var payload =
        json(
            """
            [{"trace_id":[[1],{"a":[]}],"severity":{"x":{}},"flags":[],"body":"x"},
             {"body":"good"}]""");

    assertThat(payload.rejections())
        .singleElement()
        .extracting(Rejection::field)
        .isEqualTo("trace_id");
    assertThat(bodies(payload)).containsExactly("good");
    assertThat(payload.rowIndexes()).startsWith(1);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{}",
        "{\"body\":null}",
        "{\"attributes\":{}}",
        "{\"event_name\":\"\"}",
        "{\"service\":\"s\",\"severity\":\"INFO\"}",
        "{\"x\":1}"
      })
  void ofJson_rowWithoutContent_isRejected(String row) {
    assertThat(json(row).rejections())
        .singleElement()
        .extracting(Rejection::field, Rejection::reason)
        .containsExactly("body", "is missing, and so are attributes and event_name");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"body\":\"\"}",
        "{\"attributes\":{\"a\":null}}",
        "{\"event_name\":\"e\"}",
        "{\"body\":0}"
      })
  void ofJson_rowWithAnyContent_isAccepted(String row) {
    assertThat(json(row).rejectedCount()).isZero();
  }

  @Test
  void ofJson_rowsThatAreNotObjects_areRejected() {
    var payload = json("[1,\"a\",null,true,[{\"body\":1}],{\"body\":\"good\"},2.5]");

    assertThat(payload.rejections()).extracting(Rejection::index).containsExactly(0, 1, 2, 3, 4, 6);
    assertThat(payload.rejections()).allMatch(v -> v.reason().equals("is not an object"));
    assertThat(bodies(payload)).containsExactly("good");
  }

  @Test
  void ofJson_emptyIds_areNotSent() {
    var log = record("\"trace_id\":\"\",\"span_id\":\"\"");

    assertThat(log.getTraceId().isEmpty()).isTrue();
    assertThat(log.getSpanId().isEmpty()).isTrue();
  }

  /** The receive time of such a log is better than none of its content. */
  @ParameterizedTest
  @ValueSource(strings = {"soon", "2023-02-29T00:00:00Z", "Nov 24 20:21:21", ""})
  void ofJson_timestampInUnknownFormat_isCountedAndLeftOut(String time) {
    var row =
        "{\"body\":\"b\",\"timestamp\":\"%s\",\"observed_timestamp\":\"%s\"}".formatted(time, time);

    for (var payload : List.of(json(row), ndjson(row))) {
      assertThat(payload.unknownTimestamps()).isEqualTo(2);
      assertThat(payload.rejectedCount()).isZero();
      var record = otlp(payload).getResourceLogs(0).getScopeLogs(0).getLogRecords(0);
      assertThat(record.getBody().getStringValue()).isEqualTo("b");
      assertThat(record.getTimeUnixNano()).isZero();
      assertThat(record.getObservedTimeUnixNano()).isZero();
    }
  }

  @Test
  void ofJson_unknownFields_areCountedAndIgnored() {
    var payload =
        json(
            """
            [{"body":"a","message":"m","deep":{"x":[{"body":1}]},"scope":{"colour":[1]}},
             {"body":"b","none":null}]""");

    assertThat(payload.unknownFields()).isEqualTo(3);
    assertThat(bodies(payload)).containsExactly("a", "b");
  }

  @Test
  void ofJson_rowsOfOneResourceAndScope_shareOneGroupInOrder() {
    var payload =
        json(
            """
            [{"service":"a","body":"1"},{"service":"a","body":"2"},
             {"service":"a","scope":{"name":"s"},"body":"3"},
             {"service":"b","body":"4"},{"body":"5"},{"service":"b","severity":99,"body":"6"},
             {"body":"7"},{"service":"a","body":"8"}]""");

    var request = otlp(payload);
    assertThat(request.getResourceLogsList())
        .extracting(resource -> resource.getScopeLogs(0).getLogRecordsCount())
        .containsExactly(2, 1, 1, 2, 1);
    assertThat(bodies(payload)).containsExactly("1", "2", "3", "4", "5", "7", "8");
    assertThat(Arrays.copyOf(payload.rowIndexes(), 7)).containsExactly(0, 1, 2, 3, 4, 6, 7);
    assertThat(payload.rejections()).singleElement().extracting(Rejection::index).isEqualTo(5);
  }

  @Test
  void ofJson_manyRows_keepTheirIndexes() {
    var rows = new StringBuilder("[");
    for (int i = 0; i < 1000; i++) {
      rows.append(i == 0 ? "" : ",").append(i % 3 == 0 ? "{}" : "{\"body\":\"" + i + "\"}");
    }

    var payload = json(rows + "]");

    var expected = new ArrayList<String>();
    var bodies = bodies(payload);
    int[] places = Objects.requireNonNull(payload.rowIndexes());
    for (int i = 0; i < bodies.size(); i++) {
      expected.add(Integer.toString(places[i]));
    }
    assertThat(bodies).hasSize(666).isEqualTo(expected);
    assertThat(payload.rejectedCount()).isEqualTo(334);
  }

  @Test
  void ofJson_moreRowsThanTheLimit_isTooLarge() {
    var limits = new Limits(1 << 20, 3, 1 << 20, 100, 8, 64, 64, 64, 4);

    assertThat(NativeJsonDecoder.ofJson("[1,2,3]".getBytes(UTF_8), limits).rejectedCount())
        .isEqualTo(3);
    assertThatThrownBy(() -> NativeJsonDecoder.ofJson("[1,2,3,4]".getBytes(UTF_8), limits))
        .isInstanceOfSatisfying(DecodeException.class, e -> assertThat(e.tooLarge()).isTrue());
  }

  @Test
  void ofJson_moreRejectionsThanReported_allAreCounted() {
    var payload = json("[" + "1,".repeat(10_500) + "1]");

    assertThat(payload.rejectedCount()).isEqualTo(10_501);
    assertThat(payload.rejections()).hasSize(10_000);
  }

  @Test
  void ofJson_lastOfRepeatedFields_wins() throws Exception {
    var payload = json("{\"body\":\"first\",\"body\":{\"k\":1},\"timestamp\":5,\"timestamp\":6}");

    assertThat(walked(payload)).containsExactly("good");
    var log = otlp(payload).getResourceLogs(0).getScopeLogs(0).getLogRecords(0);
    assertThat(log.getBody().hasKvlistValue()).isTrue();
    assertThat(log.getTimeUnixNano()).isEqualTo(6_000_000_000L);
  }

  @Test
  void ofNdjson_blankLinesAndLineEnds_areSkipped() {
    var payload = ndjson("\n{\"body\":\"a\"}\r\n  \t\r\n{}\n\n{\"body\":\"c\"}");

    assertThat(bodies(payload)).containsExactly("a", "c");
    assertThat(Arrays.copyOf(payload.rowIndexes(), 2)).containsExactly(0, 2);
    assertThat(payload.rejections()).singleElement().extracting(Rejection::index).isEqualTo(1);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", " ", "\n", "\r\n\t "})
  void ofEither_blankBody_hasNoRows(String body) {
    assertThat(json(body).length()).isZero();
    assertThat(json(body).rejectedCount()).isZero();
    assertThat(ndjson(body).length()).isZero();
  }

  @Test
  void ofEither_leadingByteOrderMark_isIgnored() {
    assertThat(bodies(json("\uFEFF{\"body\":\"a\"}"))).containsExactly("a");
    assertThat(bodies(ndjson("\uFEFF{\"body\":\"a\"}\n{\"body\":\"b\"}")))
        .containsExactly("a", "b");
  }

  @Test
  void ofEither_anotherUnicodeEncoding_isMalformed() {
    for (var charset :
        List.of(
            StandardCharsets.UTF_16BE, StandardCharsets.UTF_16LE, Charset.forName("UTF-32BE"))) {
      assertThatThrownBy(
              () -> NativeJsonDecoder.ofJson("{\"body\":\"a\"}".getBytes(charset), Limits.DEFAULT))
          .isInstanceOf(DecodeException.class);
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{\"body\":\"a\"              | line 1, column",
        "[{\"body\":\"a\"}            | line 1, column",
        "[{\"body\":\"a\"},]          | line 1, column 15",
        "{\"body\":\"a\"}}            | line 1, column 13",
        "{\"body\":\"a\"} x           | line 1, column 14",
        "{\"body\":tru}               | line 1, column",
        "{\"body\":01}                | line 1, column",
        "{\"body\":\"\\x\"}           | line 1, column",
        "{\"body\":\"\\ud80\"}        | line 1, column",
        "{body:1}                     | line 1, column 2",
        "nonsense                     | line 1, column 1",
      })
  void ofJson_malformed_reportsThePosition(String body, String place) {
    assertMalformed(NativeJsonDecoder::ofJson, body, place);
  }

  @ParameterizedTest
  @ValueSource(strings = {"1", "\"text\"", "null", "true"})
  void ofJson_neitherObjectNorArray_isMalformed(String body) {
    assertMalformed(NativeJsonDecoder::ofJson, body, "neither a JSON object nor an array");
  }

  @Test
  void ofJson_malformedLaterLine_reportsTheLine() {
    assertMalformed(
        NativeJsonDecoder::ofJson,
        "[\n{\"body\":\"a\"},\n  {\"body\" \"b\"}\n]",
        "line 3, column 11");
  }

  @ParameterizedTest
  @CsvSource({
    "'{\"body\":\"a\"}\n\n{\"body\":\n', 'line 3, column'",
    "'{\"body\":\"a\"}\n{\"body\":\"b\"}{\"body\":\"c\"}', 'line 2, column 13'",
    "'{\"body\":\"a\"}\nnonsense', 'line 2, column 1'",
    "'[{\"body\":\"a\"},\n{\"body\":\"b\"}]', 'line 1, column'",
  })
  void ofNdjson_malformedLine_reportsThePosition(String body, String place) {
    assertMalformed(NativeJsonDecoder::ofNdjson, body, place);
  }

  private static void assertMalformed(
      BiFunction<byte[], Limits, OtlpPayload> decoder, String body, String place) {
    assertThatThrownBy(() -> decoder.apply(body.getBytes(UTF_8), Limits.DEFAULT))
        .isInstanceOfSatisfying(DecodeException.class, e -> assertThat(e.tooLarge()).isFalse())
        .hasMessageContaining(place);
  }

  @Test
  void ofEither_invalidUtf8InOneRow_rejectsThatRow() throws Exception {
    var invalid =
        List.of(
            new byte[] {(byte) 0xFF},
            new byte[] {(byte) 0xC0, (byte) 0x80},
            new byte[] {(byte) 0xED, (byte) 0xA0, (byte) 0x80},
            new byte[] {(byte) 0xE2, (byte) 0x82},
            new byte[] {(byte) 0xF4, (byte) 0x90, (byte) 0x80, (byte) 0x80});
    for (var bytes : invalid) {
      var array = new ByteArrayOutputStream();
      array.writeBytes("[{\"body\":\"é\"},{\"body\":\"x".getBytes(UTF_8));
      array.writeBytes(bytes);
      array.writeBytes("y\"},{\"body\":\"z\"}]".getBytes(UTF_8));

      var payload = NativeJsonDecoder.ofJson(array.toByteArray(), Limits.DEFAULT);

      assertThat(walked(payload)).containsExactly("good", "body is not valid UTF-8", "good");
    }
  }

  @Test
  void ofJson_invalidUtf8BesideAnEscapedSurrogate_doesNotBecomeAPair() throws Exception {
    for (var escapes : List.of("\\udc00", "\\ud800")) {
      for (boolean before : new boolean[] {true, false}) {
        var body = new ByteArrayOutputStream();
        body.writeBytes("{\"body\":\"".getBytes(UTF_8));
        body.writeBytes((before ? escapes : "").getBytes(UTF_8));
        body.write(0xFF);
        body.writeBytes((before ? "" : escapes).getBytes(UTF_8));
        body.writeBytes("\"}".getBytes(UTF_8));

        var payload = NativeJsonDecoder.ofJson(body.toByteArray(), Limits.DEFAULT);

        assertThat(walked(payload)).containsExactly("body is not valid UTF-8");
      }
    }
  }

  @Test
  void ofJson_invalidUtf8OutsideText_isMalformed() {
    var body = "{\"body\":\"a\"} ".getBytes(UTF_8);
    body[body.length - 1] = (byte) 0xFF;

    assertThatThrownBy(() -> NativeJsonDecoder.ofJson(body, Limits.DEFAULT))
        .isInstanceOf(DecodeException.class)
        .hasMessageContaining("line 1, column 13");
  }

  @ParameterizedTest
  @CsvSource({
    "'\"body\":\"\\ud800\"', body",
    "'\"body\":\"\\udc00\\ud800\"', body",
    "'\"attributes\":{\"k\":\"\\udfff\"}', attributes.k",
    "'\"attributes\":{\"\\ud800\":1}', attributes",
    "'\"service\":\"\\ud800\"', resource.attributes.service.name",
    "'\"event_name\":\"\\ud800x\"', event_name",
    "'\"severity_text\":\"x\\udbff\"', severity_text",
  })
  void ofJson_loneSurrogate_rejectsThatRow(String member, String field) throws Exception {
    var payload = json("[{\"body\":\"good\"},{\"body\":\"x\"," + member + "}]");

    assertThat(walked(payload)).containsExactly("good", field + " is not valid UTF-8");
  }

  @Test
  void ofEither_loneSurrogateInAName_rejectsOneRowOnce() throws Exception {
    var lines =
        ndjson(
            """
            {"body":"a","other":1}
            {"nonsense":1,"\\ud800":2,"body":"b","attributes":{"\\udc00":1}}
            {"\\ud83d\\ude00":1,"body":"c"}""");
    var array = json("[{\"x\":1,\"body\":\"a\",\"\\ud800\":[1]},{\"body\":\"b\"}]");

    assertThat(walked(lines)).containsExactly("good", "attributes is not valid UTF-8", "good");
    assertThat(lines.unknownFields()).isEqualTo(4);
    assertThat(bodies(array)).containsExactly("a", "b");
    assertThat(array.unknownFields()).isEqualTo(2);
  }

  @Test
  void ofJson_nestedToTheLimitAndOneDeeper_acceptsAndRejects() throws Exception {
    int most = Limits.DEFAULT.maxNesting();
    for (var deep : List.of("\"body\":%s", "\"attributes\":{\"k\":%s}")) {
      for (int depth : new int[] {most, most + 1, most + 2, 1000, 5000}) {
        for (var brackets : List.of("[]", "{}")) {
          var value =
              brackets.equals("[]")
                  ? "[".repeat(depth) + "]".repeat(depth)
                  : "{\"a\":".repeat(depth - 1) + "{}" + "}".repeat(depth - 1);

          var payload = json("[{" + deep.formatted(value) + "},{\"body\":\"next\"}]");

          var verdicts = walked(payload);
          assertThat(verdicts).hasSize(2).endsWith("good");
          assertThat(verdicts.getFirst().equals("good"))
              .as("depth " + depth)
              .isEqualTo(depth <= most);
        }
      }
    }
  }
}
