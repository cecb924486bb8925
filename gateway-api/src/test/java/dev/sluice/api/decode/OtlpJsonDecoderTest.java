package dev.sluice.api.decode;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import com.google.protobuf.util.JsonFormat;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.DecodeException;
import dev.sluice.testkit.RandomOtlp;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.logs.v1.LogRecord;
import java.util.Base64;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Random;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class OtlpJsonDecoderTest {
  private static final Pattern IDS =
      Pattern.compile("\"(traceId|spanId|trace_id|span_id)\": ?\"([^\"]*)\"");

  private static ExportLogsServiceRequest read(String json) throws Exception {
    var payload = OtlpJsonDecoder.read(json.getBytes(UTF_8), Limits.DEFAULT);
    return ExportLogsServiceRequest.parseFrom(
        ByteString.copyFrom(payload.bytes(), 0, payload.length()));
  }

  private static LogRecord log(String json) throws Exception {
    return read("{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[" + json + "]}]}]}")
        .getResourceLogs(0)
        .getScopeLogs(0)
        .getLogRecords(0);
  }

  private static AnyValue body(String json) throws Exception {
    return log("{\"body\":" + json + "}").getBody();
  }

  /** Applies the difference between OTLP and proto3's mapping: ids are hexadecimal, not base64. */
  private static String withHexIds(String json) {
    return IDS.matcher(json)
        .replaceAll(
            id ->
                "\"%s\":\"%s\""
                    .formatted(
                        id.group(1),
                        HexFormat.of().formatHex(Base64.getDecoder().decode(id.group(2)))));
  }

  @Test
  void read_protobufJsonFormat_isTheSameMessage() throws Exception {
    var printers =
        new JsonFormat.Printer[] {
          JsonFormat.printer(),
          JsonFormat.printer().omittingInsignificantWhitespace(),
          JsonFormat.printer().preservingProtoFieldNames(),
          JsonFormat.printer().printingEnumsAsInts(),
          JsonFormat.printer().alwaysPrintFieldsWithNoPresence(),
        };
    var random = new Random(42);
    for (int i = 0; i < 3000; i++) {
      var request = RandomOtlp.request(random);

      var json = withHexIds(printers[i % printers.length].print(request));

      assertThat(read(json)).as(json).isEqualTo(request);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "0, 0",
    "9, 9",
    "24, 24",
    "99, 99",
    "-1, -1",
    "'\"9\"', 9",
    "'\"SEVERITY_NUMBER_UNSPECIFIED\"', 0",
    "'\"SEVERITY_NUMBER_WARN\"', 13",
    "'\"SEVERITY_NUMBER_ERROR2\"', 18",
    "null, 0",
  })
  void read_severityNumber_isIntegerOrName(String json, int number) throws Exception {
    assertThat(log("{\"severityNumber\":" + json + "}").getSeverityNumberValue()).isEqualTo(number);
  }

  @ParameterizedTest
  @CsvSource({
    "7, 7",
    "'\"7\"', 7",
    "'\"-9223372036854775808\"', -9223372036854775808",
    "9223372036854775807, 9223372036854775807",
    "1.0, 1",
    "1e3, 1000",
    "'\"1e3\"', 1000",
    "-0, 0",
    "0e999999999, 0",
  })
  void read_intValue_isNumberOrText(String json, long value) throws Exception {
    assertThat(body("{\"intValue\":" + json + "}").getIntValue()).isEqualTo(value);
  }

  @Test
  void read_unsignedNumbers_useAllTheirBits() throws Exception {
    var log =
        log(
            """
            {"timeUnixNano":"18446744073709551615","observedTimeUnixNano":1700000000000000000,
             "flags":4294967295,"droppedAttributesCount":"4294967295"}""");

    assertThat(log.getTimeUnixNano()).isEqualTo(-1);
    assertThat(log.getObservedTimeUnixNano()).isEqualTo(1_700_000_000_000_000_000L);
    assertThat(log.getFlags()).isEqualTo(-1);
    assertThat(log.getDroppedAttributesCount()).isEqualTo(-1);
  }

  @Test
  void read_doubles_areNumbersOrNames() throws Exception {
    assertThat(body("{\"doubleValue\":1}").getDoubleValue()).isEqualTo(1);
    assertThat(body("{\"doubleValue\":\"1.5\"}").getDoubleValue()).isEqualTo(1.5);
    assertThat(body("{\"doubleValue\":\"NaN\"}").getDoubleValue()).isNaN();
    assertThat(body("{\"doubleValue\":\"-Infinity\"}").getDoubleValue())
        .isEqualTo(Double.NEGATIVE_INFINITY);
  }

  @Test
  void read_bytes_areBase64OfEitherAlphabetWithOrWithoutPadding() throws Exception {
    var bytes = ByteString.copyFrom(new byte[] {(byte) 0xFB, (byte) 0xFF, 1, 2});

    for (var text : new String[] {"+/8BAg==", "-_8BAg==", "+/8BAg", "-_8BAg"}) {
      assertThat(body("{\"bytesValue\":\"" + text + "\"}").getBytesValue()).isEqualTo(bytes);
    }
  }

  @Test
  void read_ids_areHexInEitherCase() throws Exception {
    var log =
        log(
            """
            {"traceId":"5B8EFFF798038103D269B633813FC60C","spanId":"eee19b7ec3c1b174"}""");

    assertThat(log.getTraceId().size()).isEqualTo(16);
    assertThat(log.getTraceId().byteAt(0)).isEqualTo((byte) 0x5B);
    assertThat(log.getSpanId().byteAt(7)).isEqualTo((byte) 0x74);
  }

  @Test
  void read_unknownFieldsAndNulls_areIgnored() throws Exception {
    var log =
        log(
            """
            {"future":{"a":[1,{"body":2}]},"body":{"stringValue":"b","other":[]},
             "attributes":null,"traceId":null,"1":[[]]}""");

    assertThat(log.getBody().getStringValue()).isEqualTo("b");
    assertThat(log.getAttributesCount()).isZero();
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "{}", " {\n} ", "{\"resourceLogs\":[]}", "{\"resourceLogs\":null}"})
  void read_emptyBody_hasNoRecords(String json) throws Exception {
    assertThat(read(json)).isEqualTo(ExportLogsServiceRequest.getDefaultInstance());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "[]",
        "1",
        "{\"resourceLogs\":{}}",
        "{\"resourceLogs\":[1]}",
        "{\"resourceLogs\":[{\"resource\":[]}]}",
        "{\"resourceLogs\":[]} {}",
        "{\"resourceLogs\":[",
      })
  void read_anotherShape_isMalformed(String json) {
    assertMalformed(json, "at line 1, column ");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"timeUnixNano\":-1}",
        "{\"timeUnixNano\":\"18446744073709551616\"}",
        "{\"timeUnixNano\":1.5}",
        "{\"timeUnixNano\":\"soon\"}",
        "{\"timeUnixNano\":\"\"}",
        "{\"timeUnixNano\":true}",
        "{\"timeUnixNano\":1e999999999}",
        "{\"timeUnixNano\":1e-999999999}",
        "{\"timeUnixNano\":1e99999999999}",
        "{\"timeUnixNano\":\"1e2147483647\"}",
        "{\"flags\":4294967296}",
        "{\"flags\":-1}",
        "{\"severityNumber\":2147483648}",
        "{\"severityNumber\":\"SEVERITY_NUMBER_LOUD\"}",
        "{\"severityText\":1}",
        "{\"traceId\":\"xyz\"}",
        "{\"traceId\":\"abc\"}",
        "{\"spanId\":1}",
        "{\"body\":\"text\"}",
        "{\"body\":{\"intValue\":9223372036854775808}}",
        "{\"body\":{\"boolValue\":\"true\"}}",
        "{\"body\":{\"doubleValue\":1e400}}",
        "{\"body\":{\"doubleValue\":\"1e400\"}}",
        "{\"body\":{\"doubleValue\":\"much\"}}",
        "{\"body\":{\"bytesValue\":\"!\"}}",
        "{\"body\":{\"arrayValue\":[]}}",
        "{\"attributes\":[null]}",
        "{\"attributes\":{\"k\":\"v\"}}",
      })
  @Timeout(5)
  void read_valueOfAnotherType_isMalformedWithThePosition(String log) {
    assertMalformed(
        "{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[\n" + log + "]}]}]}",
        "at line 2, column ");
  }

  @Test
  @Timeout(5)
  void read_veryLongInteger_isMalformedImmediately() {
    var digits = "9".repeat(10_000_000);

    for (var number : new String[] {digits, '"' + digits + '"'}) {
      assertMalformed(
          "{\"resourceLogs\":[{\"scopeLogs\":[{\"logRecords\":[{\"timeUnixNano\":%s}]}]}]}"
              .formatted(number),
          "an integer of at most 64 bits");
    }
  }

  private static void assertMalformed(String json, String place) {
    assertThatThrownBy(() -> read(json))
        .isInstanceOfSatisfying(DecodeException.class, e -> assertThat(e.tooLarge()).isFalse())
        .hasMessageContaining("malformed")
        .hasMessageContaining(place.toLowerCase(Locale.ROOT));
  }
}
