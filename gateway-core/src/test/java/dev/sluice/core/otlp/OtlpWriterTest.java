package dev.sluice.core.otlp;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.sluice.core.domain.Limits;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.logs.v1.LogRecord;
import java.util.SplittableRandom;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class OtlpWriterTest {
  /** A field number that no version of the protocol uses, and that needs two bytes. */
  private static final int UNKNOWN_FIELD = 2047;

  private final ByteOutput out = new ByteOutput(16);
  private final OtlpWriter writer = new OtlpWriter(out);

  @Property(tries = 500, shrinking = ShrinkingMode.OFF)
  void write_anyRecord_parsesEqual(@ForAll long seed) throws Exception {
    var random = new SplittableRandom(seed);
    var log = RandomOtlp.logRecord(random).toBuilder();
    log.clearAttributes().setBody(AnyValue.newBuilder().setStringValue(log.getSeverityText()));
    for (int i = random.nextInt(4); i > 0; i--) {
      log.addAttributes(pair(RandomOtlp.text(random, 30), RandomOtlp.text(random, 300)));
    }
    var expected = OtlpRequests.of(log.build(), log.build());

    int resource = writer.beginMessage(OtlpFields.EXPORT_LOGS_SERVICE_REQUEST_RESOURCE_LOGS);
    int scope = writer.beginMessage(OtlpFields.RESOURCE_LOGS_SCOPE_LOGS);
    record(log);
    record(log);
    writer.endMessage(scope);
    writer.endMessage(resource);

    assertThat(ExportLogsServiceRequest.parseFrom(out.toByteArray())).isEqualTo(expected);
    assertThat(CopyingVisitor.walk(Limits.DEFAULT, out.toByteArray()).logs)
        .isEqualTo(FlatLog.of(expected));
    out.clear();
  }

  private void record(LogRecord.Builder log) {
    int record = writer.beginMessage(OtlpFields.SCOPE_LOGS_LOG_RECORDS);
    writer.writeFixed64(OtlpFields.LOG_RECORD_TIME_UNIX_NANO, log.getTimeUnixNano());
    writer.writeVarint(OtlpFields.LOG_RECORD_SEVERITY_NUMBER, log.getSeverityNumberValue());
    writer.writeString(OtlpFields.LOG_RECORD_SEVERITY_TEXT, log.getSeverityText());
    int body = writer.beginMessage(OtlpFields.LOG_RECORD_BODY);
    writer.writeString(OtlpFields.ANY_VALUE_STRING_VALUE, log.getBody().getStringValue());
    writer.endMessage(body);
    for (var pair : log.getAttributesList()) {
      writer.writeAttribute(
          OtlpFields.LOG_RECORD_ATTRIBUTES, pair.getKey(), pair.getValue().getStringValue());
    }
    writer.writeVarint(
        OtlpFields.LOG_RECORD_DROPPED_ATTRIBUTES_COUNT,
        Integer.toUnsignedLong(log.getDroppedAttributesCount()));
    writer.writeFixed32(OtlpFields.LOG_RECORD_FLAGS, log.getFlags());
    bytes(OtlpFields.LOG_RECORD_TRACE_ID, log.getTraceId());
    bytes(OtlpFields.LOG_RECORD_SPAN_ID, log.getSpanId());
    writer.writeFixed64(
        OtlpFields.LOG_RECORD_OBSERVED_TIME_UNIX_NANO, log.getObservedTimeUnixNano());
    writer.writeString(OtlpFields.LOG_RECORD_EVENT_NAME, log.getEventName());
    writer.endMessage(record);
  }

  private void bytes(int field, ByteString value) {
    var padded = ByteString.copyFromUtf8("??").concat(value).toByteArray();
    writer.writeBytes(field, padded, 2, value.size());
  }

  /** Lengths around which the varint of the text or of an enclosing message needs one more byte. */
  @ParameterizedTest
  @ValueSource(
      ints = {
        0, 1, 117, 121, 125, 126, 127, 128, 129, 16_376, 16_379, 16_382, 16_383, 16_384, 2_097_143,
        2_097_147, 2_097_151, 2_097_152
      })
  void endMessage_lengthsAroundThePowersOf128_parseEqual(int length) throws Exception {
    var text = "v".repeat(length);
    var expected =
        LogRecord.newBuilder()
            .setSeverityText("before")
            .addAttributes(pair("key", text))
            .setEventName("after")
            .build();

    writer.writeString(OtlpFields.LOG_RECORD_SEVERITY_TEXT, "before");
    writer.writeAttribute(OtlpFields.LOG_RECORD_ATTRIBUTES, "key", text);
    writer.writeString(OtlpFields.LOG_RECORD_EVENT_NAME, "after");

    assertThat(LogRecord.parseFrom(out.toByteArray())).isEqualTo(expected);
    assertThat(out.toByteArray()).isEqualTo(expected.toByteArray());
  }

  @Test
  void beginMessage_fieldNumbersAboveFifteen_takeTwoBytes() throws Exception {
    int message = writer.beginMessage(UNKNOWN_FIELD);
    writer.writeVarint(1, -1);
    writer.endMessage(message);

    var unknown = LogRecord.parseFrom(out.toByteArray()).getUnknownFields();

    assertThat(unknown.getField(UNKNOWN_FIELD).getLengthDelimitedList()).hasSize(1);
  }

  @Test
  void writeString_charactersOfEveryLength_areUtf8() throws Exception {
    var text = "a\u007F\u0080\u07FF\u0800\uD7FF\uE000\uFFFF\uD800\uDC00\uDBFF\uDFFF😀";

    writer.writeString(OtlpFields.LOG_RECORD_SEVERITY_TEXT, text);

    assertThat(LogRecord.parseFrom(out.toByteArray()).getSeverityText()).isEqualTo(text);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"\uD83D", "a\uD83Db", "\uDE00", "\uDE00\uD83D", "\uD83D\uD83D", "end\uDBFF"})
  void writeString_loneSurrogate_rejectsTheRecord(String text) throws Exception {
    writer.writeString(OtlpFields.LOG_RECORD_SEVERITY_TEXT, text);

    var sink = CopyingVisitor.walk(Limits.DEFAULT, OtlpRequests.ofRecord(out.toByteArray()));

    assertThat(sink.rejected)
        .containsExactly(
            new CopyingVisitor.RejectedRecord(0, "severity_text", "is not valid UTF-8"));
  }

  private static KeyValue pair(String key, String value) {
    return KeyValue.newBuilder()
        .setKey(key)
        .setValue(AnyValue.newBuilder().setStringValue(value))
        .build();
  }
}
