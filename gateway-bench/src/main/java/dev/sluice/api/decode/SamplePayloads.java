package dev.sluice.api.decode;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.sluice.core.otlp.ByteOutput;
import dev.sluice.core.otlp.OtlpWriter;
import dev.sluice.core.otlp.SampleLogs;
import dev.sluice.proto.v1.IngestRequest;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.logs.v1.LogRecord;
import java.time.Instant;
import java.util.HexFormat;
import java.util.List;
import java.util.random.RandomGenerator;
import tools.jackson.core.JsonGenerator;

/**
 * The same logs in each format that clients can send.
 *
 * @param otlp OTLP in protobuf
 * @param otlpJson OTLP in JSON
 * @param nativeProtobuf an {@code IngestRequest} of {@code sluice.v1}
 * @param nativeJson an array of native JSON objects
 * @param nativeNdjson native JSON objects, one per line
 */
public record SamplePayloads(
    byte[] otlp, byte[] otlpJson, byte[] nativeProtobuf, byte[] nativeJson, byte[] nativeNdjson) {

  static SamplePayloads of(RandomGenerator random, int logs) {
    var otlp = SampleLogs.body(random, logs);
    try {
      var request = ExportLogsServiceRequest.parseFrom(otlp);
      var json = Json.write(to -> rows(request, to));
      return new SamplePayloads(
          otlp,
          Json.write(to -> request(request, to)),
          nativeProtobuf(request),
          json,
          nativeNdjson(json));
    } catch (InvalidProtocolBufferException e) {
      throw new IllegalStateException(e);
    }
  }

  private static byte[] nativeNdjson(byte[] json) {
    var array = new String(json, UTF_8);
    var rows = array.substring(1, array.length() - 1);
    return rows.replace("},{\"timestamp\"", "}\n{\"timestamp\"").getBytes(UTF_8);
  }

  private static void request(ExportLogsServiceRequest request, JsonGenerator to) {
    to.writeStartObject();
    to.writeArrayPropertyStart("resourceLogs");
    for (var resourceLogs : request.getResourceLogsList()) {
      to.writeStartObject();
      to.writeObjectPropertyStart("resource");
      keyValues(resourceLogs.getResource().getAttributesList(), to);
      to.writeEndObject();
      to.writeArrayPropertyStart("scopeLogs");
      for (var scopeLogs : resourceLogs.getScopeLogsList()) {
        to.writeStartObject();
        to.writeArrayPropertyStart("logRecords");
        scopeLogs.getLogRecordsList().forEach(log -> record(log, to));
        to.writeEndArray();
        to.writeEndObject();
      }
      to.writeEndArray();
      to.writeEndObject();
    }
    to.writeEndArray();
    to.writeEndObject();
  }

  private static void record(LogRecord log, JsonGenerator to) {
    to.writeStartObject();
    to.writeStringProperty("timeUnixNano", Long.toString(log.getTimeUnixNano()));
    to.writeStringProperty("observedTimeUnixNano", Long.toString(log.getObservedTimeUnixNano()));
    to.writeNumberProperty("severityNumber", log.getSeverityNumberValue());
    to.writeStringProperty("severityText", log.getSeverityText());
    to.writeObjectPropertyStart("body");
    to.writeStringProperty("stringValue", log.getBody().getStringValue());
    to.writeEndObject();
    keyValues(log.getAttributesList(), to);
    if (!log.getTraceId().isEmpty()) {
      to.writeStringProperty("traceId", hex(log.getTraceId()));
      to.writeStringProperty("spanId", hex(log.getSpanId()));
    }
    to.writeEndObject();
  }

  private static void keyValues(List<KeyValue> attributes, JsonGenerator to) {
    to.writeArrayPropertyStart("attributes");
    for (var attribute : attributes) {
      to.writeStartObject();
      to.writeStringProperty("key", attribute.getKey());
      to.writeObjectPropertyStart("value");
      to.writeStringProperty("stringValue", attribute.getValue().getStringValue());
      to.writeEndObject();
      to.writeEndObject();
    }
    to.writeEndArray();
  }

  private static String hex(ByteString bytes) {
    return HexFormat.of().formatHex(bytes.toByteArray());
  }

  private static void rows(ExportLogsServiceRequest request, JsonGenerator to) {
    to.writeStartArray();
    for (var resourceLogs : request.getResourceLogsList()) {
      var resource = resourceLogs.getResource().getAttributesList();
      for (var scopeLogs : resourceLogs.getScopeLogsList()) {
        scopeLogs.getLogRecordsList().forEach(log -> row(log, resource, to));
      }
    }
    to.writeEndArray();
  }

  private static void row(LogRecord log, List<KeyValue> resource, JsonGenerator to) {
    to.writeStartObject();
    to.writeStringProperty("timestamp", time(log.getTimeUnixNano()));
    to.writeStringProperty("observed_timestamp", time(log.getObservedTimeUnixNano()));
    to.writeStringProperty("severity", log.getSeverityText());
    to.writeStringProperty("service", text(resource, "service.name"));
    to.writeStringProperty("host", text(resource, "host.name"));
    to.writeStringProperty("body", log.getBody().getStringValue());
    to.writeObjectPropertyStart("attributes");
    for (var attribute : log.getAttributesList()) {
      to.writeStringProperty(attribute.getKey(), attribute.getValue().getStringValue());
    }
    to.writeEndObject();
    if (!log.getTraceId().isEmpty()) {
      to.writeStringProperty("trace_id", hex(log.getTraceId()));
      to.writeStringProperty("span_id", hex(log.getSpanId()));
    }
    to.writeEndObject();
  }

  private static String time(long nanos) {
    return Instant.ofEpochSecond(nanos / 1_000_000_000, nanos % 1_000_000_000).toString();
  }

  private static String text(List<KeyValue> attributes, String key) {
    return attributes.stream()
        .filter(attribute -> attribute.getKey().equals(key))
        .map(attribute -> attribute.getValue().getStringValue())
        .findFirst()
        .orElseThrow();
  }

  /**
   * Converts to {@code sluice.v1}, whose log has the fields of an OTLP log, and also its service
   * and host.
   */
  private static byte[] nativeProtobuf(ExportLogsServiceRequest request) {
    var out = new ByteOutput(request.getSerializedSize() * 2);
    var writer = new OtlpWriter(out);
    for (var resourceLogs : request.getResourceLogsList()) {
      var resource = resourceLogs.getResource().getAttributesList();
      for (var scopeLogs : resourceLogs.getScopeLogsList()) {
        for (var log : scopeLogs.getLogRecordsList()) {
          int mark = writer.beginMessage(IngestRequest.LOGS_FIELD_NUMBER);
          out.write(log.toByteArray());
          writer.writeString(
              dev.sluice.proto.v1.LogRecord.SERVICE_FIELD_NUMBER, text(resource, "service.name"));
          writer.writeString(
              dev.sluice.proto.v1.LogRecord.HOST_FIELD_NUMBER, text(resource, "host.name"));
          writer.endMessage(mark);
        }
      }
    }
    return out.toByteArray();
  }
}
