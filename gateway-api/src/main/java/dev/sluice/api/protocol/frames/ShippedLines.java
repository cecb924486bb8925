package dev.sluice.api.protocol.frames;

import dev.sluice.api.decode.JsonAnyValueEncoder;
import dev.sluice.api.decode.LenientJsonReader;
import dev.sluice.api.decode.OtlpJsonDecoder;
import dev.sluice.api.decode.OtlpRequestBuilder;
import dev.sluice.api.decode.Timestamps;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.Severity;
import dev.sluice.core.ingest.DecodeException;
import dev.sluice.core.ingest.OtlpPayload;
import dev.sluice.core.otlp.MalformedOtlpException;
import dev.sluice.core.otlp.OtlpFields;
import dev.sluice.core.otlp.OtlpRecord;
import dev.sluice.core.otlp.OtlpRecordVisitor;
import dev.sluice.core.otlp.OtlpWalker;
import java.util.Arrays;
import java.util.Map;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/**
 * Decodes the lines of shipped WAL frames into OTLP. A flat line has {@code ts}, {@code level},
 * {@code _msg} and any fields of the application; a line of Sluice's own WAL is OTLP in JSON. For
 * one request.
 */
final class ShippedLines {
  private final OtlpRequestBuilder builder;
  private final Limits limits;
  private final Map<String, String> resource;

  ShippedLines(Map<String, String> resource, Limits limits, int sizeHint) {
    this.builder = new OtlpRequestBuilder(limits, sizeHint);
    this.limits = limits;
    this.resource = resource;
  }

  /**
   * Decodes the line {@code bytes[from, to)}.
   *
   * @throws DecodeException if the line is malformed or there are too many records
   */
  void readLine(byte[] bytes, int from, int to) {
    builder.begin();
    boolean isOtlp = LenientJsonReader.read(bytes, from, to, 1, this::readFlatLine);
    if (isOtlp) {
      readOtlpLine(Arrays.copyOfRange(bytes, from, to));
    } else {
      builder.end();
    }
  }

  /** Reads a flat line; returns true if the line is OTLP in JSON instead. */
  private boolean readFlatLine(JsonParser p) {
    builder.begin();
    if (p.nextToken() != JsonToken.START_OBJECT) {
      throw DecodeException.malformed("is not an object");
    }
    resource.forEach(
        (key, value) ->
            builder.resource.writeAttribute(OtlpFields.RESOURCE_ATTRIBUTES, key, value));
    boolean hasTimestamp = false;
    boolean hasLevel = false;
    boolean hasMessage = false;
    boolean content = false;
    String name;
    while ((name = p.nextName()) != null) {
      var token = p.nextToken();
      if (name.equals("resourceLogs") && token == JsonToken.START_ARRAY) {
        return true;
      } else if (name.equals("ts") && !hasTimestamp) {
        hasTimestamp = true;
        readTimestamp(p);
      } else if (name.equals("level") && !hasLevel && token == JsonToken.VALUE_STRING) {
        hasLevel = true;
        readSeverity(p.getString());
      } else if (name.equals("_msg") && !hasMessage) {
        hasMessage = true;
        readBody(p);
      } else { // of equal names the first is the logger's, later ones are the application's
        JsonAnyValueEncoder.writeEntry(
            name, p, builder.record, OtlpFields.LOG_RECORD_ATTRIBUTES, limits.maxNesting() + 1);
        content = true;
      }
    }
    if (!hasMessage && !content) {
      builder.rejectRecord("_msg", "is missing, and so are all other fields with content");
    }
    LenientJsonReader.requireEnd(p, 1);
    return false;
  }

  private void readTimestamp(JsonParser p) {
    try {
      builder.record.writeFixed64(OtlpFields.LOG_RECORD_TIME_UNIX_NANO, Timestamps.of(p));
    } catch (Timestamps.InvalidTimestampException e) {
      builder.rejectRecord("ts", e.reason());
    }
  }

  /** Writes the level as severity text, and its severity number if the level is known. */
  private void readSeverity(String level) {
    Severity.numberOf(level)
        .ifPresent(
            number -> builder.record.writeVarint(OtlpFields.LOG_RECORD_SEVERITY_NUMBER, number));
    builder.record.writeString(OtlpFields.LOG_RECORD_SEVERITY_TEXT, level);
  }

  private void readBody(JsonParser p) {
    int mark = builder.record.beginMessage(OtlpFields.LOG_RECORD_BODY);
    JsonAnyValueEncoder.write(p, builder.record, limits.maxNesting() + 1);
    builder.record.endMessage(mark);
  }

  private void readOtlpLine(byte[] line) {
    var otlp = OtlpJsonDecoder.read(line, limits);
    int records = countRecords(otlp);
    if (records != 1) {
      throw DecodeException.malformed("has " + records + " log records instead of 1");
    }
    builder.end(otlp.bytes(), otlp.length());
  }

  private static int countRecords(OtlpPayload otlp) {
    var count = new int[1];
    var counter =
        new OtlpRecordVisitor() {
          @Override
          public void visitRecord(OtlpRecord log) {
            count[0]++;
          }

          @Override
          public void visitRejected(int ordinal, String field, String reason) {
            count[0]++; // counted here, rejected later by the ingest service's walk
          }
        };
    try {
      new OtlpWalker(Limits.TRUSTED).walk(otlp.bytes(), 0, otlp.length(), counter);
    } catch (MalformedOtlpException e) {
      throw DecodeException.malformed(String.valueOf(e.getMessage()));
    }
    return count[0];
  }

  OtlpPayload payload() {
    return builder.payload();
  }
}
