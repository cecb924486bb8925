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
final class AppLogRow {
  private static final HexFormat HEX = HexFormat.of();
  private static final Pattern UUID =
      Pattern.compile("\\p{XDigit}{8}-(?:\\p{XDigit}{4}-){3}\\p{XDigit}{12}");
  private static final Pattern TRACE_ID = Pattern.compile("\\p{XDigit}{32}");
  private static final Pattern AS_READ_BACK = Pattern.compile("[0-9a-f]{32}");

  private final OtlpRows rows;
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

  AppLogRow(Limits limits, int sizeHint) {
    this.rows = new OtlpRows(limits, sizeHint);
    this.nesting = limits.maxNesting() + 1;
    this.maxAttributes = limits.maxAttributes();
  }

  void begin() {
    rows.begin();
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

  void fault(String field, String reason) {
    rows.fault(field, reason);
  }

  void unknownField() {
    rows.unknownFields++;
  }

  void timestamp(JsonParser p) {
    try {
      rows.record.writeFixed64(1, Timestamps.of(p));
    } catch (Timestamps.Unusable e) {
      fault("timestamp", e.reason());
    }
  }

  /**
   * @param millis 0 for the time of receipt
   */
  void timestamp(long millis) {
    try {
      rows.record.writeFixed64(1, Timestamps.ofMillis(millis));
    } catch (Timestamps.Unusable e) {
      fault("timestamp", e.reason());
    }
  }

  void metadata(JsonParser p) {
    if (p.currentToken() != JsonToken.START_OBJECT) {
      p.skipChildren();
      fault("metadata", "must be an object");
      return;
    }
    String name;
    while ((name = p.nextName()) != null) {
      p.nextToken();
      JsonValue.writeEntry(AppLog.attributeOf(name), p, rows.record, 6, nesting);
    }
  }

  /**
   * Whether one more entry is worth writing. Each becomes an attribute, so more of them than a
   * record may have attributes cannot pass, and a request may be nothing but entries.
   */
  boolean takesMetadata() {
    if (++entries > maxAttributes) {
      fault("metadata", "more attributes than the limit of " + maxAttributes);
    }
    return !rows.faulty();
  }

  void metadata(String key, String value) {
    rows.record.writeAttribute(6, AppLog.attributeOf(key), value);
  }

  void end() {
    if (required("app_id", appId)) {
      rows.resource.writeAttribute(1, "service.name", appId);
    }
    if (required("message", message)) {
      int body = rows.record.beginMessage(5);
      rows.record.writeString(1, message);
      rows.record.endMessage(body);
    }
    if (required("level", level)) {
      severity();
    }
    if (required(AppLog.SOURCE, source)) {
      attribute(AppLog.SOURCE, source);
    }
    attribute(AppLog.ENVIRONMENT, environment.isEmpty() ? "prod" : environment);
    attribute(AppLog.USER_ID, userId);
    attribute(AppLog.ID, id);
    trace();
    rows.end();
  }

  private boolean required(String field, String value) {
    if (value.isEmpty()) {
      fault(field, "is missing");
    }
    return !value.isEmpty();
  }

  private void severity() {
    var number = Severity.numberOf(level);
    if (number.isEmpty()) {
      fault("level", "is unknown; known are DEBUG, INFO, WARN, ERROR, FATAL");
      return;
    }
    rows.record.writeVarint(2, number.getAsInt());
    rows.record.writeString(3, level);
  }

  /** Any text will do; one that names a trace as the rest of the world does finds it, too. */
  private void trace() {
    boolean uuid = UUID.matcher(traceId).matches();
    if (uuid || TRACE_ID.matcher(traceId).matches()) {
      byte[] trace = HEX.parseHex(uuid ? traceId.replace("-", "") : traceId);
      rows.record.writeBytes(9, trace, 0, trace.length);
    }
    if (!AS_READ_BACK.matcher(traceId).matches()) {
      attribute(AppLog.TRACE_ID, traceId);
    }
  }

  private void attribute(String key, String value) {
    if (!value.isEmpty()) {
      rows.record.writeAttribute(6, key, value);
    }
  }

  OtlpPayload payload() {
    return rows.payload();
  }
}
