package dev.sluice.api.decode;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.otlp.OtlpFields;
import dev.sluice.testkit.RandomOtlp;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.logs.v1.LogRecord;
import io.opentelemetry.proto.logs.v1.ResourceLogs;
import io.opentelemetry.proto.logs.v1.ScopeLogs;
import java.io.ByteArrayOutputStream;
import java.util.Random;
import org.junit.jupiter.api.Test;

class OtlpJsonEncoderTest {

  @Test
  void encode_anyRequest_decodesToTheSame() throws Exception {
    var random = new Random(43);
    for (int i = 0; i < 3000; i++) {
      var request = RandomOtlp.request(random);

      var json = OtlpJsonEncoder.encode(request.toByteArray());

      assertThat(read(json)).as(json).isEqualTo(request);
    }
  }

  @Test
  void encode_idsLargeNumbersAndNonFinite_followTheMapping() {
    var log =
        LogRecord.newBuilder()
            .setTimeUnixNano(-1)
            .setSeverityNumberValue(9)
            .setFlags(-1)
            .setTraceId(ByteString.copyFrom(new byte[] {(byte) 0xAB, 1}))
            .setBody(AnyValue.newBuilder().setIntValue(Long.MIN_VALUE))
            .build();

    assertThat(OtlpJsonEncoder.encode(request(log)))
        .contains(
            "\"timeUnixNano\":\"18446744073709551615\"",
            "\"severityNumber\":9",
            "\"flags\":4294967295",
            "\"traceId\":\"ab01\"",
            "\"intValue\":\"-9223372036854775808\"");
    assertThat(
            OtlpJsonEncoder.encode(
                request(
                    LogRecord.newBuilder()
                        .setBody(AnyValue.newBuilder().setDoubleValue(Double.NEGATIVE_INFINITY))
                        .build())))
        .contains("\"doubleValue\":\"-Infinity\"");
  }

  /** The parts of a message are merged; of the parts of a value the last one wins. */
  @Test
  void encode_splitMessages_areMerged() throws Exception {
    var first =
        LogRecord.newBuilder()
            .setBody(AnyValue.newBuilder().setStringValue("first"))
            .setSeverityText("INFO")
            .build();
    var second = LogRecord.newBuilder().setBody(AnyValue.newBuilder().setBoolValue(true)).build();
    var log = new ByteArrayOutputStream();
    first.writeTo(log);
    second.writeTo(log);
    var bytes = request(LogRecord.parseFrom(log.toByteArray()));
    var scattered =
        ExportLogsServiceRequest.newBuilder()
            .addResourceLogs(
                ResourceLogs.newBuilder()
                    .addScopeLogs(
                        ScopeLogs.newBuilder()
                            .setUnknownFields(
                                UnknownFieldSet.newBuilder()
                                    .addField(
                                        2,
                                        UnknownFieldSet.Field.newBuilder()
                                            .addLengthDelimited(
                                                ByteString.copyFrom(log.toByteArray()))
                                            .build())
                                    .build())))
            .build()
            .toByteArray();

    assertThat(read(OtlpJsonEncoder.encode(scattered)))
        .isEqualTo(ExportLogsServiceRequest.parseFrom(bytes));
  }

  @Test
  void encode_invalidOtlp_throws() {
    assertThatIllegalArgumentException()
        .isThrownBy(
            () ->
                OtlpJsonEncoder.encode(
                    new byte[] {OtlpFields.EXPORT_LOGS_SERVICE_REQUEST_RESOURCE_LOGS_TAG}));
  }

  private static byte[] request(LogRecord log) {
    return ExportLogsServiceRequest.newBuilder()
        .addResourceLogs(
            ResourceLogs.newBuilder().addScopeLogs(ScopeLogs.newBuilder().addLogRecords(log)))
        .build()
        .toByteArray();
  }

  private static ExportLogsServiceRequest read(String json) throws Exception {
    var payload = OtlpJsonDecoder.read(json.getBytes(UTF_8), Limits.DEFAULT);
    return ExportLogsServiceRequest.parseFrom(
        ByteString.copyFrom(payload.bytes(), 0, payload.length()));
  }
}
