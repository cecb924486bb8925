package dev.sluice.api.decode;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.Severity;
import dev.sluice.core.ingest.OtlpPayload;
import dev.sluice.core.otlp.OtlpWriter;
import java.util.HexFormat;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/**
 * Turns native JSON logs into OTLP, streaming: no tree, no object for a log.
 *
 * <p>What is wrong with one row costs that row; only what is no JSON at all costs the request.
 * Lengths, counts and depths are not judged here but by the walker that every entrance passes. For
 * one request.
 */
public final class NativeLogs {
  private static final HexFormat HEX = HexFormat.of();

  private final Limits limits;
  private final OtlpRows rows;
  private @Nullable String service;
  private @Nullable String host;

  private NativeLogs(Limits limits, int sizeHint) {
    this.limits = limits;
    this.rows = new OtlpRows(limits, sizeHint);
  }

  /** One JSON object, or an array of them. */
  public static OtlpPayload ofJson(byte[] body, Limits limits) {
    return JsonText.readRows(body, () -> new NativeLogs(limits, body.length), NativeLogs::row)
        .rows
        .payload();
  }

  /** One JSON object a line; blank lines do not count. */
  public static OtlpPayload ofNdjson(byte[] body, Limits limits) {
    var logs = new NativeLogs(limits, body.length);
    int line = 1;
    for (int from = 0; from < body.length; line++) {
      int to = from;
      while (to < body.length && body[to] != '\n') {
        to++;
      }
      if (!JsonText.isBlank(body, from, to)) {
        int number = line;
        long unknownBefore = logs.rows.unknownFields;
        JsonText.read(
            body,
            from,
            to,
            number,
            parser -> {
              logs.rows.unknownFields = unknownBefore;
              parser.nextToken();
              logs.row(parser);
              JsonText.requireEnd(parser, number);
              return true;
            });
      }
      from = to + 1;
    }
    return logs.rows.payload();
  }

  /** Reads one row; the parser stands on its first token and is left on its last. */
  private void row(JsonParser parser) {
    rows.begin();
    if (parser.currentToken() != JsonToken.START_OBJECT) {
      parser.skipChildren();
      rows.fault("", "is not an object");
      rows.end();
      return;
    }
    service = null;
    host = null;
    boolean content = false;
    String name;
    while ((name = parser.nextName()) != null) {
      if (parser.nextToken() != JsonToken.VALUE_NULL) {
        content |= field(name, parser);
      }
    }
    // last, since they win over what the resource says of the same
    if (service != null && !service.isEmpty()) {
      rows.resource.writeAttribute(1, "service.name", service);
    }
    if (host != null && !host.isEmpty()) {
      rows.resource.writeAttribute(1, "host.name", host);
    }
    if (!content) {
      rows.fault("body", "is missing, and so are attributes and event_name");
    }
    rows.end();
  }

  /** Returns whether the field is something worth storing by itself. */
  private boolean field(String name, JsonParser p) {
    switch (name) {
      case "timestamp" -> time(name, p, 1);
      case "observed_timestamp" -> time(name, p, 11);
      case "severity" -> severity(p);
      case "severity_number" -> severityNumber(name, p);
      case "severity_text" -> text(name, p, rows.record, 3);
      case "service" -> service = text(name, p);
      case "host" -> host = text(name, p);
      case "resource" -> attributes(name, p, rows.resource, 1);
      case "scope" -> scope(p);
      case "trace_id" -> hex(name, p, 9, 16);
      case "span_id" -> hex(name, p, 10, 8);
      case "flags" -> unsigned(name, p, value -> rows.record.writeFixed32(8, value));
      case "dropped_attributes_count" ->
          unsigned(name, p, value -> rows.record.writeVarint(7, Integer.toUnsignedLong(value)));
      case "body" -> {
        int mark = rows.record.beginMessage(5);
        JsonValue.write(p, rows.record, limits.maxNesting() + 1);
        rows.record.endMessage(mark);
        return true;
      }
      case "attributes" -> {
        int before = rows.record.output().size();
        attributes(name, p, rows.record, 6);
        return rows.record.output().size() > before;
      }
      case "event_name" -> {
        text(name, p, rows.record, 12);
        return p.currentToken() == JsonToken.VALUE_STRING && !p.getString().isEmpty();
      }
      default -> {
        rows.unknownFields++;
        p.skipChildren();
      }
    }
    return false;
  }

  private void time(String name, JsonParser p, int field) {
    try {
      rows.record.writeFixed64(field, Timestamps.of(p));
    } catch (Timestamps.Unusable e) {
      rows.fault(name, e.reason());
    }
  }

  private void severity(JsonParser p) {
    if (p.currentToken() == JsonToken.VALUE_NUMBER_INT) {
      severityNumber("severity", p);
      return;
    }
    if (p.currentToken() != JsonToken.VALUE_STRING) {
      wrongType("severity", p, "text or a number");
      return;
    }
    var text = p.getString();
    var number = Severity.numberOf(text);
    if (number.isEmpty()) {
      rows.fault(
          "severity", "is unknown; known are TRACE, DEBUG, INFO, WARN, ERROR, FATAL and 1 to 24");
      return;
    }
    rows.record.writeVarint(2, number.getAsInt());
    rows.record.writeString(3, text);
  }

  private void severityNumber(String name, JsonParser p) {
    if (p.currentToken() != JsonToken.VALUE_NUMBER_INT) {
      wrongType(name, p, "a number");
      return;
    }
    long number = p.getNumberType() == JsonParser.NumberType.BIG_INTEGER ? -1 : p.getLongValue();
    if (number < 0 || number > 24) {
      rows.fault(name, "is unknown; known are 0 to 24");
      return;
    }
    rows.record.writeVarint(2, number);
    if (name.equals("severity")) {
      rows.record.writeString(3, Severity.textOf((int) number));
    }
  }

  private void text(String name, JsonParser p, OtlpWriter into, int field) {
    if (p.currentToken() == JsonToken.VALUE_STRING) {
      into.writeString(field, p.getString());
    } else {
      wrongType(name, p, "text");
    }
  }

  private @Nullable String text(String name, JsonParser p) {
    if (p.currentToken() == JsonToken.VALUE_STRING) {
      return p.getString();
    }
    wrongType(name, p, "text");
    return null;
  }

  private void attributes(String name, JsonParser p, OtlpWriter into, int field) {
    if (p.currentToken() == JsonToken.START_OBJECT) {
      JsonValue.writeEntries(p, into, field, limits.maxNesting() + 1);
    } else {
      wrongType(name, p, "an object");
    }
  }

  private void scope(JsonParser p) {
    if (p.currentToken() != JsonToken.START_OBJECT) {
      wrongType("scope", p, "an object");
      return;
    }
    String name;
    while ((name = p.nextName()) != null) {
      if (p.nextToken() == JsonToken.VALUE_NULL) {
        continue;
      }
      switch (name) {
        case "name" -> text("scope.name", p, rows.scope, 1);
        case "version" -> text("scope.version", p, rows.scope, 2);
        case "attributes" -> attributes("scope.attributes", p, rows.scope, 3);
        default -> {
          rows.unknownFields++;
          p.skipChildren();
        }
      }
    }
  }

  private void hex(String name, JsonParser p, int field, int bytes) {
    if (p.currentToken() != JsonToken.VALUE_STRING) {
      wrongType(name, p, "text");
      return;
    }
    var text = p.getString();
    if (text.isEmpty()) {
      return;
    }
    try {
      byte[] id = HEX.parseHex(text);
      if (id.length == bytes) {
        rows.record.writeBytes(field, id, 0, id.length);
        return;
      }
    } catch (IllegalArgumentException _) {
      // falls through to the verdict
    }
    rows.fault(name, "is not " + 2 * bytes + " hexadecimal digits");
  }

  private void unsigned(String name, JsonParser p, IntConsumer write) {
    if (p.currentToken() != JsonToken.VALUE_NUMBER_INT) {
      wrongType(name, p, "a number");
      return;
    }
    long number = p.getNumberType() == JsonParser.NumberType.BIG_INTEGER ? -1 : p.getLongValue();
    if (number < 0 || number > 0xFFFF_FFFFL) {
      rows.fault(name, "has more than 32 bits");
      return;
    }
    write.accept((int) number);
  }

  private void wrongType(String name, JsonParser p, String wanted) {
    p.skipChildren();
    rows.fault(name, "must be " + wanted);
  }
}
