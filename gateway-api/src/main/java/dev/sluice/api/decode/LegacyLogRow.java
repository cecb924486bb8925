package dev.sluice.api.decode;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.Severity;
import dev.sluice.core.ingest.OtlpPayload;
import java.util.HexFormat;
import java.util.regex.Pattern;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/**
 * The fields of an app log, one row after the other, as OTLP: what each becomes, and what is wrong
 * with it. What is absent is empty text. For one request.
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
    builder.unknownFields++;
  }

  void writeTimestamp(JsonParser p) {
    try {
      builder.record.writeFixed64(1, Timestamps.of(p));
    } catch (Timestamps.InvalidTimestampException e) {
      rejectRecord("timestamp", e.reason());
    }
  }

  /**
   * @param millis 0 for the time of receipt
   */
  void writeTimestamp(long millis) {
    try {
      builder.record.writeFixed64(1, Timestamps.ofMillis(millis));
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
      JsonAnyValueEncoder.writeEntry(LegacyLog.attributeOf(name), p, builder.record, 6, nesting);
    }
  }

  /**
   * Whether one more entry is worth writing. Each becomes an attribute, so more of them than a
   * record may have attributes cannot pass, and a request may be nothing but entries.
   */
  boolean countMetadataEntry() {
    if (++entries > maxAttributes) {
      rejectRecord("metadata", "more attributes than the limit of " + maxAttributes);
    }
    return !builder.isRejected();
  }

  void writeMetadata(String key, String value) {
    builder.record.writeAttribute(6, LegacyLog.attributeOf(key), value);
  }

  void end() {
    if (requirePresent("app_id", appId)) {
      builder.resource.writeAttribute(1, "service.name", appId);
    }
    if (requirePresent("message", message)) {
      int body = builder.record.beginMessage(5);
      builder.record.writeString(1, message);
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
      rejectRecord("level", "is unknown; known are DEBUG, INFO, WARN, ERROR, FATAL");
      return;
    }
    builder.record.writeVarint(2, number.getAsInt());
    builder.record.writeString(3, level);
  }

  /** Any text will do; one that names a trace as the rest of the world does finds it, too. */
  private void writeTraceId() {
    boolean uuid = UUID.matcher(traceId).matches();
    if (uuid || TRACE_ID.matcher(traceId).matches()) {
      byte[] trace = HEX.parseHex(uuid ? traceId.replace("-", "") : traceId);
      builder.record.writeBytes(9, trace, 0, trace.length);
    }
    if (!CANONICAL_TRACE_ID.matcher(traceId).matches()) {
      writeAttribute(LegacyLog.TRACE_ID, traceId);
    }
  }

  private void writeAttribute(String key, String value) {
    if (!value.isEmpty()) {
      builder.record.writeAttribute(6, key, value);
    }
  }

  OtlpPayload payload() {
    return builder.payload();
  }
}
