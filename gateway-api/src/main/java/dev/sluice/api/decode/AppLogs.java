package dev.sluice.api.decode;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.OtlpPayload;
import dev.sluice.core.otlp.MalformedOtlpException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/**
 * Turns the logs of {@code /api/logs} and {@code logs.LogService}, in JSON and in protobuf, into
 * OTLP.
 *
 * <p>What is wrong with one log costs that log, also when it is a byte that is no UTF-8; only what
 * is no JSON or no protobuf at all costs the request.
 */
public final class AppLogs {
  private AppLogs() {}

  /** One JSON object, or an array of them. */
  public static OtlpPayload ofJson(byte[] body, Limits limits) {
    return JsonText.readRows(body, () -> new AppLogRow(limits, body.length), AppLogs::row)
        .payload();
  }

  /** One {@code logs.LogEntry}. */
  public static OtlpPayload ofProtobuf(byte[] body, Limits limits) {
    return read(body, limits, "logs.LogEntry", AppLogProtobuf::entry);
  }

  /** A {@code logs.LogEntryBatch}. */
  public static OtlpPayload ofProtobufBatch(byte[] body, Limits limits) {
    return read(body, limits, "logs.LogEntryBatch", AppLogProtobuf::entries);
  }

  /** A {@code logs.IngestLogsRequest}. */
  public static OtlpPayload ofIngestLogsRequest(byte[] body, Limits limits) {
    return read(body, limits, "logs.IngestLogsRequest", AppLogProtobuf::inputs);
  }

  private static void row(AppLogRow row, JsonParser p) {
    row.begin();
    if (p.currentToken() != JsonToken.START_OBJECT) {
      p.skipChildren();
      row.fault("", "is not an object");
      row.end();
      return;
    }
    String name;
    while ((name = p.nextName()) != null) {
      if (p.nextToken() != JsonToken.VALUE_NULL) {
        field(name, p, row);
      }
    }
    row.end();
  }

  private static void field(String name, JsonParser p, AppLogRow row) {
    switch (name) {
      case "id" -> row.id = text(name, p, row);
      case "app_id" -> row.appId = text(name, p, row);
      case "timestamp" -> row.timestamp(p);
      case "level" -> row.level = text(name, p, row);
      case "message" -> row.message = text(name, p, row);
      case "source" -> row.source = text(name, p, row);
      case "environment" -> row.environment = text(name, p, row);
      case "metadata" -> row.metadata(p);
      case "trace_id" -> row.traceId = text(name, p, row);
      case "user_id" -> row.userId = text(name, p, row);
      default -> {
        row.unknownField();
        p.skipChildren();
      }
    }
  }

  private static String text(String name, JsonParser p, AppLogRow row) {
    if (p.currentToken() == JsonToken.VALUE_STRING) {
      return p.getString();
    }
    p.skipChildren();
    row.fault(name, "must be text");
    return "";
  }

  private interface Reading {
    OtlpPayload read(AppLogProtobuf from) throws MalformedOtlpException;
  }

  private static OtlpPayload read(byte[] body, Limits limits, String type, Reading reading) {
    try {
      return reading.read(new AppLogProtobuf(body, limits));
    } catch (MalformedOtlpException e) {
      throw Undecodable.malformed(
          "malformed protobuf: no " + type + " can be read, " + e.getMessage());
    }
  }
}
