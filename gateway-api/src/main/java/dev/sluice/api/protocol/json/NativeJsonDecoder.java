package dev.sluice.api.protocol.json;

import dev.sluice.api.decode.JsonAnyValueEncoder;
import dev.sluice.api.decode.LenientJsonReader;
import dev.sluice.api.decode.OtlpRequestBuilder;
import dev.sluice.api.decode.Timestamps;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.Severity;
import dev.sluice.core.ingest.DecodeException;
import dev.sluice.core.ingest.OtlpPayload;
import dev.sluice.core.otlp.OtlpFields;
import dev.sluice.core.otlp.OtlpWriter;
import java.util.HexFormat;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/**
 * Decodes native JSON logs into OTLP in a streaming way: it builds no tree and no object per log.
 *
 * <p>An invalid row is rejected alone; only a body that is not JSON fails the request. This class
 * does not validate lengths, counts and nesting; {@link dev.sluice.core.otlp.OtlpWalker} does, for
 * all protocols. For one request.
 */
final class NativeJsonDecoder {
  private static final HexFormat HEX = HexFormat.of();

  private final Limits limits;
  private final OtlpRequestBuilder builder;
  private @Nullable String service;
  private @Nullable String host;

  private NativeJsonDecoder(Limits limits, int sizeHint) {
    this.limits = limits;
    this.builder = new OtlpRequestBuilder(limits, sizeHint);
  }

  /**
   * Decodes one JSON object or an array of objects.
   *
   * @throws DecodeException if the body is malformed or has too many records
   */
  public static OtlpPayload ofJson(byte[] body, Limits limits) {
    return LenientJsonReader.readRows(
            body, () -> new NativeJsonDecoder(limits, body.length), NativeJsonDecoder::readRecord)
        .builder
        .payload();
  }

  /**
   * Decodes NDJSON, one JSON object per line; blank lines are skipped.
   *
   * @throws DecodeException if a line is malformed or the body has too many records
   */
  public static OtlpPayload ofNdjson(byte[] body, Limits limits) {
    var logs = new NativeJsonDecoder(limits, body.length);
    int line = 1;
    for (int from = 0; from < body.length; line++) {
      int to = from;
      while (to < body.length && body[to] != '\n') {
        to++;
      }
      if (!LenientJsonReader.isBlank(body, from, to)) {
        int number = line;
        long unknownFields = logs.builder.unknownFields();
        long unknownTimestamps = logs.builder.unknownTimestamps();
        LenientJsonReader.read(
            body,
            from,
            to,
            number,
            parser -> {
              logs.builder.resetUnknown(unknownFields, unknownTimestamps);
              parser.nextToken();
              logs.readRecord(parser);
              LenientJsonReader.requireEnd(parser, number);
              return true;
            });
      }
      from = to + 1;
    }
    return logs.builder.payload();
  }

  /** Reads one row, from the parser's current token to the last token of the row. */
  private void readRecord(JsonParser parser) {
    builder.begin();
    if (parser.currentToken() != JsonToken.START_OBJECT) {
      parser.skipChildren();
      builder.rejectRecord("", "is not an object");
      builder.end();
      return;
    }
    service = null;
    host = null;
    boolean content = false;
    String name;
    while ((name = parser.nextName()) != null) {
      if (parser.nextToken() != JsonToken.VALUE_NULL) {
        content |= readField(name, parser);
      }
    }
    // last, because these fields override the same attributes of "resource"
    if (service != null && !service.isEmpty()) {
      builder.resource.writeAttribute(OtlpFields.RESOURCE_ATTRIBUTES, "service.name", service);
    }
    if (host != null && !host.isEmpty()) {
      builder.resource.writeAttribute(OtlpFields.RESOURCE_ATTRIBUTES, "host.name", host);
    }
    if (!content) {
      builder.rejectRecord("body", "is missing, and so are attributes and event_name");
    }
    builder.end();
  }

  /** Reads one field; returns whether a log with only this field has content. */
  private boolean readField(String name, JsonParser p) {
    switch (name) {
      case "timestamp" -> readTimestamp(name, p, OtlpFields.LOG_RECORD_TIME_UNIX_NANO);
      case "observed_timestamp" ->
          readTimestamp(name, p, OtlpFields.LOG_RECORD_OBSERVED_TIME_UNIX_NANO);
      case "severity" -> readSeverity(p);
      case "severity_number" -> readSeverityNumber(name, p);
      case "severity_text" ->
          readText(name, p, builder.record, OtlpFields.LOG_RECORD_SEVERITY_TEXT);
      case "service" -> service = readText(name, p);
      case "host" -> host = readText(name, p);
      case "resource" -> readAttributes(name, p, builder.resource, OtlpFields.RESOURCE_ATTRIBUTES);
      case "scope" -> readScope(p);
      case "trace_id" -> readHex(name, p, OtlpFields.LOG_RECORD_TRACE_ID, 16);
      case "span_id" -> readHex(name, p, OtlpFields.LOG_RECORD_SPAN_ID, 8);
      case "flags" ->
          readUnsigned(
              name, p, value -> builder.record.writeFixed32(OtlpFields.LOG_RECORD_FLAGS, value));
      case "dropped_attributes_count" ->
          readUnsigned(
              name,
              p,
              value ->
                  builder.record.writeVarint(
                      OtlpFields.LOG_RECORD_DROPPED_ATTRIBUTES_COUNT,
                      Integer.toUnsignedLong(value)));
      case "body" -> {
        int mark = builder.record.beginMessage(OtlpFields.LOG_RECORD_BODY);
        JsonAnyValueEncoder.write(p, builder.record, limits.maxNesting() + 1);
        builder.record.endMessage(mark);
        return true;
      }
      case "attributes" -> {
        int before = builder.record.output().size();
        readAttributes(name, p, builder.record, OtlpFields.LOG_RECORD_ATTRIBUTES);
        return builder.record.output().size() > before;
      }
      case "event_name" -> {
        readText(name, p, builder.record, OtlpFields.LOG_RECORD_EVENT_NAME);
        return p.currentToken() == JsonToken.VALUE_STRING && !p.getString().isEmpty();
      }
      default -> {
        builder.countUnknownField();
        p.skipChildren();
      }
    }
    return false;
  }

  private void readTimestamp(String name, JsonParser p, int field) {
    try {
      builder.record.writeFixed64(field, Timestamps.of(p));
    } catch (Timestamps.UnknownFormatException _) {
      builder.countUnknownTimestamp(); // the record gets its receive time
    } catch (Timestamps.InvalidTimestampException e) {
      builder.rejectRecord(name, e.reason());
    }
  }

  private void readSeverity(JsonParser p) {
    if (p.currentToken() == JsonToken.VALUE_NUMBER_INT) {
      readSeverityNumber("severity", p);
      return;
    }
    if (p.currentToken() != JsonToken.VALUE_STRING) {
      rejectType("severity", p, "text or a number");
      return;
    }
    var text = p.getString();
    var number = Severity.numberOf(text);
    if (number.isEmpty()) {
      builder.rejectRecord(
          "severity",
          "is unknown; must be one of TRACE, DEBUG, INFO, WARN, ERROR, FATAL or from 1 to 24");
      return;
    }
    builder.record.writeVarint(OtlpFields.LOG_RECORD_SEVERITY_NUMBER, number.getAsInt());
    builder.record.writeString(OtlpFields.LOG_RECORD_SEVERITY_TEXT, text);
  }

  private void readSeverityNumber(String name, JsonParser p) {
    if (p.currentToken() != JsonToken.VALUE_NUMBER_INT) {
      rejectType(name, p, "a number");
      return;
    }
    long number = p.getNumberType() == JsonParser.NumberType.BIG_INTEGER ? -1 : p.getLongValue();
    if (number < 0 || number > 24) {
      builder.rejectRecord(name, "is unknown; must be from 0 to 24");
      return;
    }
    builder.record.writeVarint(OtlpFields.LOG_RECORD_SEVERITY_NUMBER, number);
    if (name.equals("severity")) {
      builder.record.writeString(
          OtlpFields.LOG_RECORD_SEVERITY_TEXT, Severity.textOf((int) number));
    }
  }

  private void readText(String name, JsonParser p, OtlpWriter into, int field) {
    if (p.currentToken() == JsonToken.VALUE_STRING) {
      into.writeString(field, p.getString());
    } else {
      rejectType(name, p, "text");
    }
  }

  private @Nullable String readText(String name, JsonParser p) {
    if (p.currentToken() == JsonToken.VALUE_STRING) {
      return p.getString();
    }
    rejectType(name, p, "text");
    return null;
  }

  private void readAttributes(String name, JsonParser p, OtlpWriter into, int field) {
    if (p.currentToken() == JsonToken.START_OBJECT) {
      JsonAnyValueEncoder.writeEntries(p, into, field, limits.maxNesting() + 1);
    } else {
      rejectType(name, p, "an object");
    }
  }

  private void readScope(JsonParser p) {
    if (p.currentToken() != JsonToken.START_OBJECT) {
      rejectType("scope", p, "an object");
      return;
    }
    String name;
    while ((name = p.nextName()) != null) {
      if (p.nextToken() == JsonToken.VALUE_NULL) {
        continue;
      }
      switch (name) {
        case "name" ->
            readText("scope.name", p, builder.scope, OtlpFields.INSTRUMENTATION_SCOPE_NAME);
        case "version" ->
            readText("scope.version", p, builder.scope, OtlpFields.INSTRUMENTATION_SCOPE_VERSION);
        case "attributes" ->
            readAttributes(
                "scope.attributes", p, builder.scope, OtlpFields.INSTRUMENTATION_SCOPE_ATTRIBUTES);
        default -> {
          builder.countUnknownField();
          p.skipChildren();
        }
      }
    }
  }

  private void readHex(String name, JsonParser p, int field, int bytes) {
    if (p.currentToken() != JsonToken.VALUE_STRING) {
      rejectType(name, p, "text");
      return;
    }
    var text = p.getString();
    if (text.isEmpty()) {
      return;
    }
    try {
      byte[] id = HEX.parseHex(text);
      if (id.length == bytes) {
        builder.record.writeBytes(field, id, 0, id.length);
        return;
      }
    } catch (IllegalArgumentException _) {
      // falls through to the rejection
    }
    builder.rejectRecord(name, "is not " + 2 * bytes + " hexadecimal digits");
  }

  private void readUnsigned(String name, JsonParser p, IntConsumer write) {
    if (p.currentToken() != JsonToken.VALUE_NUMBER_INT) {
      rejectType(name, p, "a number");
      return;
    }
    long number = p.getNumberType() == JsonParser.NumberType.BIG_INTEGER ? -1 : p.getLongValue();
    if (number < 0 || number > 0xFFFF_FFFFL) {
      builder.rejectRecord(name, "has more than 32 bits");
      return;
    }
    write.accept((int) number);
  }

  private void rejectType(String name, JsonParser p, String expected) {
    p.skipChildren();
    builder.rejectRecord(name, "must be " + expected);
  }
}
