package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import com.google.protobuf.ByteString;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.common.v1.ArrayValue;
import io.opentelemetry.proto.common.v1.InstrumentationScope;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.common.v1.KeyValueList;
import io.opentelemetry.proto.logs.v1.LogRecord;
import io.opentelemetry.proto.logs.v1.ResourceLogs;
import io.opentelemetry.proto.logs.v1.ScopeLogs;
import io.opentelemetry.proto.logs.v1.SeverityNumber;
import io.opentelemetry.proto.resource.v1.Resource;
import java.util.HexFormat;
import java.util.List;
import tools.jackson.databind.JsonNode;

/** OTLP requests, and their expected rows. */
final class Otlp {
  static final String TRACE_ID = "5b8efff798038103d269b633813fc60c";
  static final String SPAN_ID = "eee19b7ec3c1b174";
  private static final long TIME = 1_700_000_000_123_456_789L;
  private static final long OBSERVED = 1_700_000_001_000_000_001L;

  private Otlp() {}

  /** Returns a request with logs that have only these bodies. */
  static ExportLogsServiceRequest request(String service, String... bodies) {
    var scope = ScopeLogs.newBuilder();
    for (var body : bodies) {
      scope.addLogRecords(LogRecord.newBuilder().setBody(text(body)));
    }
    return request(service, scope.build());
  }

  static ExportLogsServiceRequest request(String service, LogRecord... logs) {
    return request(service, ScopeLogs.newBuilder().addAllLogRecords(List.of(logs)).build());
  }

  private static ExportLogsServiceRequest request(String service, ScopeLogs logs) {
    return ExportLogsServiceRequest.newBuilder()
        .addResourceLogs(
            ResourceLogs.newBuilder()
                .setResource(
                    Resource.newBuilder().addAttributes(attribute("service.name", text(service))))
                .addScopeLogs(logs))
        .build();
  }

  /** Returns a request with one log that sets every field. */
  static ExportLogsServiceRequest everything(String service) {
    var log =
        LogRecord.newBuilder()
            .setTimeUnixNano(TIME)
            .setObservedTimeUnixNano(OBSERVED)
            .setSeverityNumber(SeverityNumber.SEVERITY_NUMBER_ERROR2)
            .setSeverityText("severe")
            .setBody(
                map(
                    attribute("message", text("out of café")),
                    attribute("codes", list(integer(7), text("x")))))
            .addAttributes(attribute("text", text("t")))
            .addAttributes(attribute("yes", AnyValue.newBuilder().setBoolValue(true).build()))
            .addAttributes(attribute("int", integer(Long.MIN_VALUE)))
            .addAttributes(attribute("double", AnyValue.newBuilder().setDoubleValue(0.5).build()))
            .addAttributes(attribute("list", list(integer(1), text("two"))))
            .addAttributes(attribute("map", map(attribute("k", text("v")))))
            .addAttributes(
                attribute(
                    "bytes",
                    AnyValue.newBuilder().setBytesValue(ByteString.copyFrom("abc", UTF_8)).build()))
            .addAttributes(attribute("unset", AnyValue.getDefaultInstance()))
            .setDroppedAttributesCount(3)
            .setFlags(0x0301)
            .setTraceId(ByteString.copyFrom(HexFormat.of().parseHex(TRACE_ID)))
            .setSpanId(ByteString.copyFrom(HexFormat.of().parseHex(SPAN_ID)))
            .setEventName("order.failed");
    return ExportLogsServiceRequest.newBuilder()
        .addResourceLogs(
            ResourceLogs.newBuilder()
                .setSchemaUrl("https://example.org/resource")
                .setResource(
                    Resource.newBuilder()
                        .addAttributes(attribute("service.name", text(service)))
                        .addAttributes(attribute("pid", integer(42))))
                .addScopeLogs(
                    ScopeLogs.newBuilder()
                        .setSchemaUrl("https://example.org/scope")
                        .setScope(
                            InstrumentationScope.newBuilder()
                                .setName("org.example.Orders")
                                .setVersion("1.2")
                                .addAttributes(attribute("scoped", text("s"))))
                        .addLogRecords(log)))
        .build();
  }

  /** Returns the request of {@link #everything} in OTLP JSON. */
  static String everythingInJson(String service) {
    return """
    {"resourceLogs":[{
      "schemaUrl":"https://example.org/resource",
      "resource":{"attributes":[
        {"key":"service.name","value":{"stringValue":"%s"}},
        {"key":"pid","value":{"intValue":"42"}}]},
      "scopeLogs":[{
        "schemaUrl":"https://example.org/scope",
        "scope":{"name":"org.example.Orders","version":"1.2",
          "attributes":[{"key":"scoped","value":{"stringValue":"s"}}]},
        "logRecords":[{
          "timeUnixNano":"1700000000123456789",
          "observedTimeUnixNano":"1700000001000000001",
          "severityNumber":18,
          "severityText":"severe",
          "body":{"kvlistValue":{"values":[
            {"key":"message","value":{"stringValue":"out of caf\\u00e9"}},
            {"key":"codes","value":{"arrayValue":{"values":[
              {"intValue":7},{"stringValue":"x"}]}}}]}},
          "attributes":[
            {"key":"text","value":{"stringValue":"t"}},
            {"key":"yes","value":{"boolValue":true}},
            {"key":"int","value":{"intValue":"-9223372036854775808"}},
            {"key":"double","value":{"doubleValue":0.5}},
            {"key":"list","value":{"arrayValue":{"values":[
              {"intValue":"1"},{"stringValue":"two"}]}}},
            {"key":"map","value":{"kvlistValue":{"values":[
              {"key":"k","value":{"stringValue":"v"}}]}}},
            {"key":"bytes","value":{"bytesValue":"YWJj"}},
            {"key":"unset","value":{}}],
          "droppedAttributesCount":3,
          "flags":769,
          "traceId":"5B8EFFF798038103D269B633813FC60C",
          "spanId":"eee19b7ec3c1b174",
          "eventName":"order.failed",
          "somethingNewer":{"nested":[1]}}]}]}]}"""
        .formatted(service);
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
    assertThat(attributes.size()).isEqualTo(8);
    assertThat(attributes.get("text").asString()).isEqualTo("t");
    assertThat(attributes.get("yes").asString()).isEqualTo("true");
    assertThat(attributes.get("int").asString()).isEqualTo("-9223372036854775808");
    assertThat(attributes.get("double").asString()).isEqualTo("0.5");
    assertThat(attributes.get("list").asString()).isEqualTo("[1,\"two\"]");
    assertThat(attributes.get("map").asString()).isEqualTo("{\"k\":\"v\"}");
    assertThat(attributes.get("bytes").asString()).isEqualTo("YWJj");
    assertThat(attributes.get("unset").asString()).isEmpty();
    assertThat(row.get("DroppedAttributesCount").asInt()).isEqualTo(3);
    assertThat(row.get("Flags").asInt()).isEqualTo(0x0301);
    assertThat(row.get("TraceFlags").asInt()).isEqualTo(1);
    assertThat(row.get("TraceId").asString()).isEqualTo(TRACE_ID);
    assertThat(row.get("SpanId").asString()).isEqualTo(SPAN_ID);
    assertThat(row.get("EventName").asString()).isEqualTo("order.failed");
    assertThat(row.get("ResourceSchemaUrl").asString()).isEqualTo("https://example.org/resource");
    assertThat(row.get("ResourceAttributes").get("pid").asString()).isEqualTo("42");
    assertThat(row.get("ScopeSchemaUrl").asString()).isEqualTo("https://example.org/scope");
    assertThat(row.get("ScopeName").asString()).isEqualTo("org.example.Orders");
    assertThat(row.get("ScopeVersion").asString()).isEqualTo("1.2");
    assertThat(row.get("ScopeAttributes").get("scoped").asString()).isEqualTo("s");
    assertThat(row.get("Tenant").asString()).isEqualTo("default");
  }

  static AnyValue text(String text) {
    return AnyValue.newBuilder().setStringValue(text).build();
  }

  static AnyValue integer(long value) {
    return AnyValue.newBuilder().setIntValue(value).build();
  }

  static AnyValue list(AnyValue... values) {
    return AnyValue.newBuilder()
        .setArrayValue(ArrayValue.newBuilder().addAllValues(List.of(values)))
        .build();
  }

  static AnyValue map(KeyValue... entries) {
    return AnyValue.newBuilder()
        .setKvlistValue(KeyValueList.newBuilder().addAllValues(List.of(entries)))
        .build();
  }

  static KeyValue attribute(String key, AnyValue value) {
    return KeyValue.newBuilder().setKey(key).setValue(value).build();
  }

  static LogRecord log(String body) {
    return LogRecord.newBuilder().setBody(text(body)).build();
  }
}
