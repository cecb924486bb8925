package dev.sluice.api.protocol.legacy;

import dev.sluice.api.decode.JsonAnyValueEncoder;
import dev.sluice.api.decode.OtlpRequestBuilder;
import dev.sluice.api.decode.Timestamps;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.Severity;
import dev.sluice.core.ingest.OtlpPayload;
import dev.sluice.core.otlp.OtlpFields;
import java.util.HexFormat;
import java.util.regex.Pattern;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/**
 * Converts the predecessor's log entries to OTLP, one row after the other: maps each field to its
 * OTLP field or attribute and validates it. An absent field is an empty string. For one request.
 */
final class LegacyLogRow {
  private static final HexFormat HEX = HexFormat.of();
  private static final Pattern UUID =
      Pattern.compile("\\p{XDigit}{8}-(?:\\p{XDigit}{4}-){3}\\p{XDigit}{12}");
  private static final Pattern TRACE_ID = Pattern.compile("\\p{XDigit}{32}");
  private static final Pattern CANONICAL_TRACE_ID = Pattern.compile("[0-9a-f]{32}");

  private final OtlpRequestBuilder builder;
  private final int nesting;
  private final int maxAttributes;
  private int entries;

  String id = "";
  String appId = "";
  String level = "";
  String message = "";
  String source = "";
  String environment = "";
  String traceId = "";
  String userId = "";

  LegacyLogRow(Limits limits, int sizeHint) {
    this.builder = new OtlpRequestBuilder(limits, sizeHint);
    this.nesting = limits.maxNesting() + 1;
    this.maxAttributes = limits.maxAttributes();
  }

  void begin() {
    builder.begin();
    entries = 0;
    id = "";
    appId = "";
    level = "";
    message = "";
    source = "";
    environment = "";
    traceId = "";
    userId = "";
  }

  void rejectRecord(String field, String reason) {
    builder.rejectRecord(field, reason);
  }

  void countUnknownField() {
    builder.countUnknownField();
  }

  void writeTimestamp(JsonParser p) {
    try {
      builder.record.writeFixed64(OtlpFields.LOG_RECORD_TIME_UNIX_NANO, Timestamps.of(p));
    } catch (Timestamps.InvalidTimestampException e) {
      rejectRecord("timestamp", e.reason());
    }
  }

  /**
   * Writes the event time.
   *
   * @param millis milliseconds since 1970; 0 stands for the receive time
   */
  void writeTimestamp(long millis) {
    try {
      builder.record.writeFixed64(
          OtlpFields.LOG_RECORD_TIME_UNIX_NANO, Timestamps.ofMillis(millis));
    } catch (Timestamps.InvalidTimestampException e) {
      rejectRecord("timestamp", e.reason());
    }
  }

  void writeMetadata(JsonParser p) {
    if (p.currentToken() != JsonToken.START_OBJECT) {
      p.skipChildren();
      rejectRecord("metadata", "must be an object");
      return;
    }
    String name;
    while ((name = p.nextName()) != null) {
      p.nextToken();
      JsonAnyValueEncoder.writeEntry(
          LegacyLog.attributeOf(name),
          p,
          builder.record,
          OtlpFields.LOG_RECORD_ATTRIBUTES,
          nesting);
    }
  }

  /**
   * Counts a metadata entry and returns whether to write it. Each entry becomes an attribute, so
   * more entries than the attribute limit reject the record; without this check a request of
   * entries only would be converted completely before its rejection.
   */
  boolean countMetadataEntry() {
    if (++entries > maxAttributes) {
      rejectRecord("metadata", "more attributes than the limit of " + maxAttributes);
    }
    return !builder.isRejected();
  }

  void writeMetadata(String key, String value) {
    builder.record.writeAttribute(
        OtlpFields.LOG_RECORD_ATTRIBUTES, LegacyLog.attributeOf(key), value);
  }

  void end() {
    if (requirePresent("app_id", appId)) {
      builder.resource.writeAttribute(OtlpFields.RESOURCE_ATTRIBUTES, "service.name", appId);
    }
    if (requirePresent("message", message)) {
      int body = builder.record.beginMessage(OtlpFields.LOG_RECORD_BODY);
      builder.record.writeString(OtlpFields.ANY_VALUE_STRING_VALUE, message);
      builder.record.endMessage(body);
    }
    if (requirePresent("level", level)) {
      writeSeverity();
    }
    if (requirePresent(LegacyLog.SOURCE, source)) {
      writeAttribute(LegacyLog.SOURCE, source);
    }
    writeAttribute(LegacyLog.ENVIRONMENT, environment.isEmpty() ? "prod" : environment);
    writeAttribute(LegacyLog.USER_ID, userId);
    writeAttribute(LegacyLog.ID, id);
    writeTraceId();
    builder.end();
  }

  private boolean requirePresent(String field, String value) {
    if (value.isEmpty()) {
      rejectRecord(field, "is missing");
    }
    return !value.isEmpty();
  }

  private void writeSeverity() {
    var number = Severity.numberOf(level);
    if (number.isEmpty()) {
      rejectRecord("level", "is unknown; must be one of DEBUG, INFO, WARN, ERROR, FATAL");
      return;
    }
    builder.record.writeVarint(OtlpFields.LOG_RECORD_SEVERITY_NUMBER, number.getAsInt());
    builder.record.writeString(OtlpFields.LOG_RECORD_SEVERITY_TEXT, level);
  }

  /**
   * Writes the trace id, which may be any text. Text of 32 hexadecimal digits or a UUID becomes the
   * OTLP trace id. All text but 32 lower-case digits is also kept as an attribute, so that a read
   * returns it as it was sent.
   */
  private void writeTraceId() {
    boolean uuid = UUID.matcher(traceId).matches();
    if (uuid || TRACE_ID.matcher(traceId).matches()) {
      byte[] trace = HEX.parseHex(uuid ? traceId.replace("-", "") : traceId);
      builder.record.writeBytes(OtlpFields.LOG_RECORD_TRACE_ID, trace, 0, trace.length);
    }
    if (!CANONICAL_TRACE_ID.matcher(traceId).matches()) {
      writeAttribute(LegacyLog.TRACE_ID, traceId);
    }
  }

  private void writeAttribute(String key, String value) {
    if (!value.isEmpty()) {
      builder.record.writeAttribute(OtlpFields.LOG_RECORD_ATTRIBUTES, key, value);
    }
  }

  OtlpPayload payload() {
    return builder.payload();
  }
}
