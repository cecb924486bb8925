package dev.sluice.core.otlp;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.sluice.core.domain.Limits;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.common.v1.ArrayValue;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.common.v1.KeyValueList;
import io.opentelemetry.proto.logs.v1.LogRecord;
import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.List;
import java.util.SplittableRandom;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class AnyValueFormatterTest {
  /** A field number that {@code AnyValue} and {@code ArrayValue} do not use. */
  private static final int UNKNOWN_FIELD = 9;

  /** Expected values of ECMAScript's Number::toString, except for -0, which Go's encoder keeps. */
  @ParameterizedTest
  @CsvSource({
    "0, 0",
    "-0.0, -0",
    "1, 1",
    "-1, -1",
    "10, 10",
    "100, 100",
    "0.1, 0.1",
    "-0.1, -0.1",
    "0.5, 0.5",
    "1.5, 1.5",
    "3.141592653589793, 3.141592653589793",
    "123456789.125, 123456789.125",
    "0.30000000000000004, 0.30000000000000004",
    "9007199254740993, 9007199254740992",
    "1e20, 100000000000000000000",
    "123456789012345680000, 123456789012345680000",
    "999999999999999900000, 999999999999999900000",
    "1e21, 1e+21",
    "-1e21, -1e+21",
    "1.5e21, 1.5e+21",
    "1e22, 1e+22",
    "1e23, 1e+23",
    "1.1e23, 1.1e+23",
    "1e100, 1e+100",
    "1e300, 1e+300",
    "1.7976931348623157e308, 1.7976931348623157e+308",
    "0.000001, 0.000001",
    "0.00000123, 0.00000123",
    "0.0000001, 1e-7",
    "1e-7, 1e-7",
    "-1e-7, -1e-7",
    "0.00000012, 1.2e-7",
    "9.5e-7, 9.5e-7",
    "1e-10, 1e-10",
    "2.2250738585072014e-308," + " 2.2250738585072014e-308",
    "4.9e-324, 5e-324",
    "-4.9e-324, -5e-324",
    "1e-323, 1e-323",
    "1.5e-323, 1.5e-323",
    "2e-323, 2e-323",
    "NaN, NaN",
    "Infinity, +Inf",
    "-Infinity, -Inf"
  })
  void append_number_isWrittenAsEcmaScriptDoes(double value, String text) {
    assertThat(text(AnyValue.newBuilder().setDoubleValue(value))).isEqualTo(text);
  }

  @Property(tries = 20_000, shrinking = ShrinkingMode.OFF)
  void append_anyNumber_isTheShortestRoundTrippingText(@ForAll long seed) {
    double value = RandomOtlp.number(new SplittableRandom(seed));
    if (!Double.isFinite(value) || value == 0) {
      return;
    }

    var text = AnyValueFormatter.formatNumber(value);

    double magnitude = Math.abs(value);
    assertThat(Double.parseDouble(text)).isEqualTo(value);
    assertThat(text)
        .matches(
            magnitude >= 1e-6 && magnitude < 1e21
                ? "-?(0|[1-9][0-9]*)(\\.[0-9]*[1-9])?"
                : "-?[1-9](\\.[0-9]*[1-9])?e[+-][1-9][0-9]*");
    var decimal = new BigDecimal(text).stripTrailingZeros();
    if (decimal.precision() > 1) {
      var shorter =
          new BigDecimal(value)
              .round(new MathContext(decimal.precision() - 1, RoundingMode.HALF_EVEN));
      assertThat(shorter.doubleValue()).isNotEqualTo(value);
    }
  }

  @Test
  void append_scalars_areUnquoted() {
    assertThat(text(AnyValue.newBuilder())).isEmpty();
    assertThat(text(AnyValue.newBuilder().setStringValue(""))).isEmpty();
    assertThat(text(string("as \"it\" <is>\n\u2028"))).isEqualTo("as \"it\" <is>\n\u2028");
    assertThat(text(AnyValue.newBuilder().setBoolValue(true))).isEqualTo("true");
    assertThat(text(AnyValue.newBuilder().setBoolValue(false))).isEqualTo("false");
    assertThat(text(AnyValue.newBuilder().setIntValue(0))).isEqualTo("0");
    assertThat(text(AnyValue.newBuilder().setIntValue(Long.MIN_VALUE)))
        .isEqualTo("-9223372036854775808");
  }

  @ParameterizedTest
  @CsvSource({"0, ''", "1, +w==", "2, +/8=", "3, +/+/"})
  void append_bytes_areStandardBase64WithPadding(int length, String text) {
    byte[] content = {(byte) 0xFB, (byte) 0xFF, (byte) 0xBF};
    var bytes = AnyValue.newBuilder().setBytesValue(ByteString.copyFrom(content, 0, length));

    assertThat(text(bytes)).isEqualTo(text);
    assertThat(text(list(bytes))).isEqualTo("[\"" + text + "\"]");
  }

  @Test
  void append_list_isJsonInTheSameOrder() {
    var list =
        list(
            string("b"),
            string("a"),
            AnyValue.newBuilder(),
            AnyValue.newBuilder().setBoolValue(true),
            AnyValue.newBuilder().setIntValue(-7),
            AnyValue.newBuilder().setDoubleValue(1e-7),
            AnyValue.newBuilder().setDoubleValue(3),
            list(),
            map());

    assertThat(text(list)).isEqualTo("[\"b\",\"a\",null,true,-7,1e-7,3,[],{}]");
  }

  @Test
  void append_nonFiniteNumbers_areQuotedInsideJson() {
    var list =
        list(
            AnyValue.newBuilder().setDoubleValue(Double.NaN),
            AnyValue.newBuilder().setDoubleValue(Double.POSITIVE_INFINITY),
            AnyValue.newBuilder().setDoubleValue(Double.NEGATIVE_INFINITY));

    assertThat(text(list)).isEqualTo("[\"NaN\",\"+Inf\",\"-Inf\"]");
  }

  @Test
  void append_nestedMaps_areSortedByKeyOnEveryLevel() {
    var inner = map(pair("z", string("1")), pair("A", string("2")), pair("a", list(map())));
    var outer = map(pair("b", inner), pair("", string("none")), pair("B", string("3")));

    assertThat(text(outer))
        .isEqualTo("{\"\":\"none\",\"B\":\"3\",\"b\":{\"A\":\"2\",\"a\":[{}],\"z\":\"1\"}}");
  }

  @Test
  void append_keySentTwiceInAMap_lastWins() {
    assertThat(text(map(pair("k", string("1")), pair("k", string("2")))))
        .isEqualTo("{\"k\":\"2\"}");
  }

  @Test
  void append_entryWithoutKeyOrValue_isEmptyTextAndNull() {
    var map =
        AnyValue.newBuilder()
            .setKvlistValue(KeyValueList.newBuilder().addValues(KeyValue.newBuilder()));

    assertThat(text(map)).isEqualTo("{\"\":null}");
  }

  @Test
  void append_textInsideJson_isEscapedAsGoDoes() {
    var everything = "\"\\/\b\f\n\r\t\u0000\u0001\u001F\u007F<>&'é€😀\u2027\u2028\u2029\u202A";
    var escaped =
        "\\\"\\\\/\\b\\f\\n\\r\\t\\u0000\\u0001\\u001f\u007F\\u003c\\u003e\\u0026'é€😀\u2027"
            + "\\u2028\\u2029\u202A";

    assertThat(text(list(string(everything)))).isEqualTo("[\"" + escaped + "\"]");
    assertThat(text(map(pair(everything, string(""))))).isEqualTo("{\"" + escaped + "\":\"\"}");
  }

  @Test
  void append_oneofSentTwiceInsideAList_lastWins() throws Exception {
    var out = new ByteOutput(64);
    var writer = new OtlpWriter(out);
    int body = writer.beginMessage(OtlpFields.LOG_RECORD_BODY);
    int list = writer.beginMessage(OtlpFields.ANY_VALUE_ARRAY_VALUE);
    int any = writer.beginMessage(OtlpFields.ARRAY_VALUE_VALUES);
    writer.writeString(OtlpFields.ANY_VALUE_STRING_VALUE, "first");
    writer.writeVarint(OtlpFields.ANY_VALUE_INT_VALUE, 42);
    writer.writeVarint(UNKNOWN_FIELD, 1);
    // a string of the wrong wire type is an unknown field
    writer.writeVarint(OtlpFields.ANY_VALUE_STRING_VALUE, 1);
    writer.endMessage(any);
    writer.writeFixed32(UNKNOWN_FIELD, 7);
    writer.endMessage(list);
    writer.endMessage(body);

    assertThat(text(OtlpRequests.ofRecord(out.toByteArray()))).isEqualTo("[42]");
  }

  @Property(tries = 300, shrinking = ShrinkingMode.OFF)
  void append_anyValue_terminatesWithValidUtf8(@ForAll long seed) {
    var text = text(RandomOtlp.value(new SplittableRandom(seed), 4).toBuilder());

    assertThat(text).doesNotContain("\uFFFD");
  }

  private static AnyValue.Builder string(String text) {
    return AnyValue.newBuilder().setStringValue(text);
  }

  private static AnyValue.Builder list(AnyValue.Builder... values) {
    var list = ArrayValue.newBuilder();
    List.of(values).forEach(list::addValues);
    return AnyValue.newBuilder().setArrayValue(list);
  }

  private static AnyValue.Builder map(KeyValue... pairs) {
    return AnyValue.newBuilder()
        .setKvlistValue(KeyValueList.newBuilder().addAllValues(List.of(pairs)));
  }

  private static KeyValue pair(String key, AnyValue.Builder value) {
    return KeyValue.newBuilder().setKey(key).setValue(value).build();
  }

  private static String text(AnyValue.Builder value) {
    try {
      return text(OtlpRequests.of(LogRecord.newBuilder().setBody(value).build()).toByteArray());
    } catch (MalformedOtlpException e) {
      throw new AssertionError(e);
    }
  }

  /** Returns the string form of the body of the request's only record. */
  private static String text(byte[] request) throws MalformedOtlpException {
    var out = new ByteOutput(16);
    new OtlpWalker(Limits.DEFAULT)
        .walk(
            request,
            0,
            request.length,
            new OtlpRecordVisitor() {
              @Override
              public void visitRecord(OtlpRecord log) {
                AnyValueFormatter.append(log.body(), log.bytes(), out);
              }

              @Override
              public void visitRejected(int ordinal, String field, String reason) {
                throw new AssertionError(field + " " + reason);
              }
            });
    assertThat(Utf8.isValid(out.array(), 0, out.size())).isTrue();
    return new String(out.array(), 0, out.size(), UTF_8);
  }
}
