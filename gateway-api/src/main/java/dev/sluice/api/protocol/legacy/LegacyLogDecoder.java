package dev.sluice.api.protocol.legacy;

import dev.sluice.api.decode.LenientJsonReader;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.ingest.DecodeException;
import dev.sluice.core.ingest.OtlpPayload;
import dev.sluice.core.otlp.MalformedOtlpException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/**
 * Decodes the predecessor's format, which {@code /api/logs} and {@code logs.LogService} accept in
 * JSON and in protobuf, into OTLP.
 *
 * <p>An invalid log is rejected alone, including one with invalid UTF-8. Only a body that is not
 * JSON or not protobuf fails the request.
 */
final class LegacyLogDecoder {
  private LegacyLogDecoder() {}

  /**
   * Decodes one JSON object or an array of objects.
   *
   * @throws DecodeException if the body is malformed or has too many records
   */
  public static OtlpPayload ofJson(byte[] body, Limits limits) {
    return LenientJsonReader.readRows(
            body, () -> new LegacyLogRow(limits, body.length), LegacyLogDecoder::readRecord)
        .payload();
  }

  /**
   * Decodes one {@code logs.LogEntry}.
   *
   * @throws DecodeException if the body is malformed
   */
  public static OtlpPayload ofProtobuf(byte[] body, Limits limits) {
    return read(body, limits, "logs.LogEntry", LegacyLogProtobufDecoder::readEntry);
  }

  /**
   * Decodes a {@code logs.LogEntryBatch}.
   *
   * @throws DecodeException if the body is malformed or has too many records
   */
  public static OtlpPayload ofProtobufBatch(byte[] body, Limits limits) {
    return read(body, limits, "logs.LogEntryBatch", LegacyLogProtobufDecoder::readEntries);
  }

  /**
   * Decodes a {@code logs.IngestLogsRequest}.
   *
   * @throws DecodeException if the body is malformed or has too many records
   */
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
      throw DecodeException.malformed("malformed protobuf: not a " + type + ": " + e.getMessage());
    }
  }
}
