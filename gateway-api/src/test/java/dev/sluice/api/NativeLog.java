package dev.sluice.api;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import dev.sluice.proto.v1.IngestRequest;
import dev.sluice.proto.v1.ListValue;
import dev.sluice.proto.v1.LogRecord;
import dev.sluice.proto.v1.MapValue;
import dev.sluice.proto.v1.Scope;
import dev.sluice.proto.v1.Value;
import java.util.HexFormat;
import java.util.List;
import tools.jackson.databind.JsonNode;

/** Native logs in protobuf, and their expected rows. */
final class NativeLog {
  static final long TIME = 1_700_000_000_123_456_789L;
  private static final long OBSERVED = 1_700_000_001_000_000_001L;

  private NativeLog() {}

  static LogRecord log(String service, String body) {
    return LogRecord.newBuilder().setService(service).setBody(text(body)).build();
  }

  static IngestRequest request(LogRecord... logs) {
    return IngestRequest.newBuilder().addAllLogs(List.of(logs)).build();
  }

  static Value text(String text) {
    return Value.newBuilder().setStringValue(text).build();
  }

  static ByteString id(String hex) {
    return ByteString.copyFrom(HexFormat.of().parseHex(hex));
  }

  /** Returns a log that sets every field. */
  static LogRecord everything(String service) {
    return LogRecord.newBuilder()
        .setTimeUnixNano(TIME)
        .setObservedTimeUnixNano(OBSERVED)
        .setSeverityNumber(18)
        .setSeverityText("severe")
        .setBody(
            Value.newBuilder()
                .setMapValue(
                    MapValue.newBuilder()
                        .putValues("message", text("out of café"))
                        .putValues(
                            "codes",
                            Value.newBuilder()
                                .setListValue(
                                    ListValue.newBuilder()
                                        .addValues(Value.newBuilder().setIntValue(7))
                                        .addValues(text("x")))
                                .build())))
        .putAttributes("text", text("t"))
        .putAttributes("yes", Value.newBuilder().setBoolValue(true).build())
        .putAttributes("int", Value.newBuilder().setIntValue(Long.MIN_VALUE).build())
        .putAttributes("double", Value.newBuilder().setDoubleValue(0.5).build())
        .putAttributes(
            "bytes", Value.newBuilder().setBytesValue(ByteString.copyFromUtf8("abc")).build())
        .putAttributes("unset", Value.getDefaultInstance())
        .setDroppedAttributesCount(3)
        .setFlags(0x0301)
        .setTraceId(id(Otlp.TRACE_ID))
        .setSpanId(id(Otlp.SPAN_ID))
        .setEventName("order.failed")
        .setService(service)
        .setHost("web-1")
        .putResource("pid", Value.newBuilder().setIntValue(42).build())
        .setScope(
            Scope.newBuilder()
                .setName("org.example.Orders")
                .setVersion("1.2")
                .putAttributes("scoped", text("s")))
        .build();
  }

  /** Asserts that the row has every field of {@link #everything}. */
  static void assertEverything(JsonNode row) {
    assertThat(row.get("Timestamp").asLong()).isEqualTo(TIME);
    assertThat(row.get("ObservedTimestamp").asLong()).isEqualTo(OBSERVED);
    assertThat(row.get("ReceivedTimestamp").asLong()).isGreaterThan(OBSERVED);
    assertThat(row.get("SeverityNumber").asInt()).isEqualTo(18);
    assertThat(row.get("SeverityText").asString()).isEqualTo("severe");
    assertThat(row.get("Body").asString())
        .isEqualTo("{\"codes\":[7,\"x\"],\"message\":\"out of café\"}");
    var attributes = row.get("LogAttributes");
    assertThat(attributes.size()).isEqualTo(6);
    assertThat(attributes.get("text").asString()).isEqualTo("t");
    assertThat(attributes.get("yes").asString()).isEqualTo("true");
    assertThat(attributes.get("int").asString()).isEqualTo("-9223372036854775808");
    assertThat(attributes.get("double").asString()).isEqualTo("0.5");
    assertThat(attributes.get("bytes").asString()).isEqualTo("YWJj");
    assertThat(attributes.get("unset").asString()).isEmpty();
    assertThat(row.get("DroppedAttributesCount").asInt()).isEqualTo(3);
    assertThat(row.get("Flags").asInt()).isEqualTo(0x0301);
    assertThat(row.get("TraceFlags").asInt()).isEqualTo(1);
    assertThat(row.get("TraceId").asString()).isEqualTo(Otlp.TRACE_ID);
    assertThat(row.get("SpanId").asString()).isEqualTo(Otlp.SPAN_ID);
    assertThat(row.get("EventName").asString()).isEqualTo("order.failed");
    assertThat(row.get("ResourceAttributes").get("host.name").asString()).isEqualTo("web-1");
    assertThat(row.get("ResourceAttributes").get("pid").asString()).isEqualTo("42");
    assertThat(row.get("ScopeName").asString()).isEqualTo("org.example.Orders");
    assertThat(row.get("ScopeVersion").asString()).isEqualTo("1.2");
    assertThat(row.get("ScopeAttributes").get("scoped").asString()).isEqualTo("s");
  }
}
