package dev.sluice.api.decode;

import com.google.protobuf.ByteString;
import dev.sluice.core.otlp.Attributes;
import dev.sluice.core.otlp.OtlpRecord;
import dev.sluice.core.otlp.OtlpRecordVisitor;
import io.opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest;
import io.opentelemetry.proto.common.v1.KeyValue;
import io.opentelemetry.proto.logs.v1.LogRecord;
import java.util.HexFormat;
import java.util.List;
import tools.jackson.databind.JsonNode;

/**
 * A checksum of all fields of all logs, independent of their format: a decoder that omits a field
 * or reads another value has another checksum. Supports ASCII texts only.
 *
 * <p>The full content of each text counts when formats are compared. In measurements only length,
 * first and last character count, so that the benchmark measures the access to a field and not the
 * checksum.
 */
final class FieldChecksum implements OtlpRecordVisitor {
  private static final int TIME = 1;
  private static final int SEVERITY = 2;
  private static final int SEVERITY_TEXT = 3;
  private static final int BODY = 5;
  private static final int ATTRIBUTE = 6;
  private static final int DROPPED = 7;
  private static final int FLAGS = 8;
  private static final int TRACE = 9;
  private static final int SPAN = 10;
  private static final int OBSERVED = 11;
  private static final int EVENT = 12;
  private static final int RESOURCE = 13;
  private static final int SCOPE = 14;
  private static final int SCOPE_VERSION = 15;
  private static final int SCOPE_ATTRIBUTE = 16;
  private static final long MIX = 0x9E3779B97F4A7C15L;

  private final boolean fullContent;
  private long sum;

  /**
   * Creates a checksum.
   *
   * @param fullContent whether the full content of each text counts
   */
  FieldChecksum(boolean fullContent) {
    this.fullContent = fullContent;
  }

  /** Returns the checksum of the fields since the last call, and resets it. */
  long takeSum() {
    long result = sum;
    sum = 0;
    return result;
  }

  @Override
  public void visitRejected(int ordinal, String field, String reason) {
    throw new IllegalStateException("record " + ordinal + ": " + field + " " + reason);
  }

  @Override
  public void visitRecord(OtlpRecord log) {
    var bytes = log.bytes();
    add(TIME, log.timeNanos());
    add(OBSERVED, log.observedNanos());
    add(SEVERITY, log.severityNumber());
    add(SEVERITY_TEXT, hash(bytes, log.severityTextOffset(), log.severityTextLength()));
    add(BODY, hash(bytes, log.body().offset(), log.body().length()));
    add(ATTRIBUTE, log.attributes(), bytes);
    add(DROPPED, log.droppedAttributes());
    add(FLAGS, log.flags());
    add(TRACE, hash(bytes, log.traceIdOffset(), log.traceIdLength()));
    add(SPAN, hash(bytes, log.spanIdOffset(), log.spanIdLength()));
    add(EVENT, hash(bytes, log.eventNameOffset(), log.eventNameLength()));
    add(RESOURCE, log.resource().attributes(), bytes);
    add(SCOPE, hash(bytes, log.scope().nameOffset(), log.scope().nameLength()));
    add(SCOPE_VERSION, hash(bytes, log.scope().versionOffset(), log.scope().versionLength()));
    add(SCOPE_ATTRIBUTE, log.scope().attributes(), bytes);
  }

  private void add(int field, Attributes attributes, byte[] bytes) {
    for (int i = 0; i < attributes.size(); i++) {
      var value = attributes.value(i);
      add(
          field,
          hash(bytes, attributes.keyOffset(i), attributes.keyLength(i)),
          hash(bytes, value.offset(), value.length()));
    }
  }

  void add(ExportLogsServiceRequest request) {
    for (var resourceLogs : request.getResourceLogsList()) {
      for (var scopeLogs : resourceLogs.getScopeLogsList()) {
        var scope = scopeLogs.getScope();
        for (var log : scopeLogs.getLogRecordsList()) {
          add(log);
          add(RESOURCE, resourceLogs.getResource().getAttributesList());
          add(SCOPE, hash(scope.getName()));
          add(SCOPE_VERSION, hash(scope.getVersion()));
          add(SCOPE_ATTRIBUTE, scope.getAttributesList());
        }
      }
    }
  }

  private void add(LogRecord log) {
    add(TIME, log.getTimeUnixNano());
    add(OBSERVED, log.getObservedTimeUnixNano());
    add(SEVERITY, log.getSeverityNumberValue());
    add(SEVERITY_TEXT, hash(log.getSeverityText()));
    add(BODY, hash(log.getBody().getStringValue()));
    add(ATTRIBUTE, log.getAttributesList());
    add(DROPPED, log.getDroppedAttributesCount());
    add(FLAGS, log.getFlags());
    add(TRACE, hash(log.getTraceId()));
    add(SPAN, hash(log.getSpanId()));
    add(EVENT, hash(log.getEventName()));
  }

  private void add(int field, List<KeyValue> attributes) {
    for (var attribute : attributes) {
      add(field, hash(attribute.getKey()), hash(attribute.getValue().getStringValue()));
    }
  }

  /** Adds an {@code ExportLogsServiceRequest} in the form of a JSON tree. */
  void add(JsonNode request) {
    for (var resourceLogs : request.path("resourceLogs")) {
      for (var scopeLogs : resourceLogs.path("scopeLogs")) {
        var scope = scopeLogs.path("scope");
        for (var log : scopeLogs.path("logRecords")) {
          add(TIME, Long.parseLong(log.path("timeUnixNano").stringValue("0")));
          add(OBSERVED, Long.parseLong(log.path("observedTimeUnixNano").stringValue("0")));
          add(SEVERITY, log.path("severityNumber").intValue(0));
          add(SEVERITY_TEXT, text(log, "severityText"));
          add(BODY, text(log.path("body"), "stringValue"));
          add(ATTRIBUTE, log.path("attributes"));
          add(DROPPED, log.path("droppedAttributesCount").intValue(0));
          add(FLAGS, log.path("flags").intValue(0));
          add(TRACE, hex(log, "traceId"));
          add(SPAN, hex(log, "spanId"));
          add(EVENT, text(log, "eventName"));
          add(RESOURCE, resourceLogs.path("resource").path("attributes"));
          add(SCOPE, text(scope, "name"));
          add(SCOPE_VERSION, text(scope, "version"));
          add(SCOPE_ATTRIBUTE, scope.path("attributes"));
        }
      }
    }
  }

  private void add(int field, JsonNode attributes) {
    for (var attribute : attributes) {
      add(field, text(attribute, "key"), text(attribute.path("value"), "stringValue"));
    }
  }

  private long text(JsonNode node, String name) {
    return hash(node.path(name).stringValue(""));
  }

  private long hex(JsonNode node, String name) {
    var bytes = HexFormat.of().parseHex(node.path(name).stringValue(""));
    return hash(bytes, 0, bytes.length);
  }

  private void add(int field, long value) {
    sum += (value + field) * MIX ^ field;
  }

  private void add(int field, long key, long value) {
    add(field, key * 31 + value);
  }

  private long hash(byte[] bytes, int offset, int length) {
    if (length == 0) {
      return 0;
    }
    if (!fullContent) {
      return ends(length, bytes[offset], bytes[offset + length - 1]);
    }
    long hash = length;
    for (int i = offset; i < offset + length; i++) {
      hash = hash * 31 + bytes[i];
    }
    return hash;
  }

  private long hash(String text) {
    int length = text.length();
    if (length == 0) {
      return 0;
    }
    if (!fullContent) {
      return ends(length, text.charAt(0), text.charAt(length - 1));
    }
    long hash = length;
    for (int i = 0; i < length; i++) {
      hash = hash * 31 + text.charAt(i);
    }
    return hash;
  }

  private long hash(ByteString bytes) {
    int length = bytes.size();
    if (length == 0) {
      return 0;
    }
    if (!fullContent) {
      return ends(length, bytes.byteAt(0), bytes.byteAt(length - 1));
    }
    long hash = length;
    for (int i = 0; i < length; i++) {
      hash = hash * 31 + bytes.byteAt(i);
    }
    return hash;
  }

  private static long ends(int length, int first, int last) {
    return ((long) length << 8) + first << 8 ^ last;
  }
}
