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
public final class LegacyLogDecoder {
  private LegacyLogDecoder() {}

  /** One JSON object, or an array of them. */
  public static OtlpPayload ofJson(byte[] body, Limits limits) {
    return LenientJsonReader.readRows(
            body, () -> new LegacyLogRow(limits, body.length), LegacyLogDecoder::readRecord)
        .payload();
  }

  /** One {@code logs.LogEntry}. */
  public static OtlpPayload ofProtobuf(byte[] body, Limits limits) {
    return read(body, limits, "logs.LogEntry", LegacyLogProtobufDecoder::readEntry);
  }

  /** A {@code logs.LogEntryBatch}. */
  public static OtlpPayload ofProtobufBatch(byte[] body, Limits limits) {
    return read(body, limits, "logs.LogEntryBatch", LegacyLogProtobufDecoder::readEntries);
  }

  /** A {@code logs.IngestLogsRequest}. */
  public static OtlpPayload ofIngestLogsRequest(byte[] body, Limits limits) {
    return read(body, limits, "logs.IngestLogsRequest", LegacyLogProtobufDecoder::readInputs);
  }

  private static void readRecord(LegacyLogRow row, JsonParser p) {
    row.begin();
    if (p.currentToken() != JsonToken.START_OBJECT) {
      p.skipChildren();
      row.rejectRecord("", "is not an object");
      row.end();
      return;
    }
    String name;
    while ((name = p.nextName()) != null) {
      if (p.nextToken() != JsonToken.VALUE_NULL) {
        readField(name, p, row);
      }
    }
    row.end();
  }

  private static void readField(String name, JsonParser p, LegacyLogRow row) {
    switch (name) {
      case "id" -> row.id = readText(name, p, row);
      case "app_id" -> row.appId = readText(name, p, row);
      case "timestamp" -> row.writeTimestamp(p);
      case "level" -> row.level = readText(name, p, row);
      case "message" -> row.message = readText(name, p, row);
      case "source" -> row.source = readText(name, p, row);
      case "environment" -> row.environment = readText(name, p, row);
      case "metadata" -> row.writeMetadata(p);
      case "trace_id" -> row.traceId = readText(name, p, row);
      case "user_id" -> row.userId = readText(name, p, row);
      default -> {
        row.countUnknownField();
        p.skipChildren();
      }
    }
  }

  private static String readText(String name, JsonParser p, LegacyLogRow row) {
    if (p.currentToken() == JsonToken.VALUE_STRING) {
      return p.getString();
    }
    p.skipChildren();
    row.rejectRecord(name, "must be text");
    return "";
  }

  private interface MessageDecoder {
    OtlpPayload read(LegacyLogProtobufDecoder from) throws MalformedOtlpException;
  }

  private static OtlpPayload read(byte[] body, Limits limits, String type, MessageDecoder decoder) {
    try {
      return decoder.read(new LegacyLogProtobufDecoder(body, limits));
    } catch (MalformedOtlpException e) {
      throw DecodeException.malformed(
          "malformed protobuf: no " + type + " can be read, " + e.getMessage());
    }
  }
}
