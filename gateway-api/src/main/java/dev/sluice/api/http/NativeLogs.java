package dev.sluice.api.http;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.Rejection;
import dev.sluice.core.domain.Severity;
import dev.sluice.core.ingest.IngestLogs;
import dev.sluice.core.ingest.OtlpPayload;
import dev.sluice.core.otlp.ByteOutput;
import dev.sluice.core.otlp.OtlpWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/**
 * Turns native JSON logs into OTLP, streaming: no tree, no object for a log.
 *
 * <p>What is wrong with one row costs that row; only what is no JSON at all costs the request.
 * Lengths, counts and depths are not judged here but by the walker that every entrance passes.
 * Consecutive rows of one resource and scope share them in the OTLP too. For one request.
 */
final class NativeLogs {
  private static final HexFormat HEX = HexFormat.of();

  private final Limits limits;
  private final ByteOutput out;
  private final OtlpWriter writer;
  private final ByteOutput record = new ByteOutput(512);
  private final OtlpWriter recordWriter = new OtlpWriter(record);
  private final ByteOutput resource = new ByteOutput(128);
  private final OtlpWriter resourceWriter = new OtlpWriter(resource);
  private final ByteOutput scope = new ByteOutput(64);
  private final OtlpWriter scopeWriter = new OtlpWriter(scope);

  private byte[] openResource = {};
  private byte[] openScope = {};
  private int resourceMark = -1;
  private int scopeMark;

  private int index;
  private int[] rows = new int[16];
  private int accepted;
  private final List<Rejection> refused = new ArrayList<>();
  private int refusedCount;
  private long unknownFields;
  private @Nullable String faultField;
  private String faultReason = "";

  private NativeLogs(Limits limits, int sizeHint) {
    this.limits = limits;
    this.out = new ByteOutput(sizeHint);
    this.writer = new OtlpWriter(out);
  }

  /** One JSON object, or an array of them. */
  static OtlpPayload ofJson(byte[] body, Limits limits) {
    if (isBlank(body, 0, body.length)) {
      return new NativeLogs(limits, 0).payload();
    }
    return JsonText.read(
        body,
        0,
        body.length,
        1,
        parser -> {
          var logs = new NativeLogs(limits, body.length);
          var first = parser.nextToken();
          if (first == JsonToken.START_ARRAY) {
            while (parser.nextToken() != JsonToken.END_ARRAY) {
              logs.row(parser);
            }
          } else if (first == JsonToken.START_OBJECT) {
            logs.row(parser);
          } else {
            throw RequestRefused.malformed("body is neither a JSON object nor an array of them");
          }
          requireEnd(parser, 1);
          return logs.payload();
        });
  }

  /** One JSON object a line; blank lines do not count. */
  static OtlpPayload ofNdjson(byte[] body, Limits limits) {
    var logs = new NativeLogs(limits, body.length);
    int line = 1;
    for (int from = 0; from < body.length; line++) {
      int to = from;
      while (to < body.length && body[to] != '\n') {
        to++;
      }
      if (!isBlank(body, from, to)) {
        int number = line;
        long unknownBefore = logs.unknownFields;
        JsonText.read(
            body,
            from,
            to,
            number,
            parser -> {
              logs.unknownFields = unknownBefore;
              parser.nextToken();
              logs.row(parser);
              requireEnd(parser, number);
              return true;
            });
      }
      from = to + 1;
    }
    return logs.payload();
  }

  private static void requireEnd(JsonParser parser, int line) {
    if (parser.nextToken() != null) {
      var place = parser.currentTokenLocation();
      throw RequestRefused.malformed(
          "malformed JSON at line %d, column %d: more after the end"
              .formatted(line + place.getLineNr() - 1, place.getColumnNr()));
    }
  }

  private static boolean isBlank(byte[] body, int from, int to) {
    for (int i = from; i < to; i++) {
      if (body[i] != ' ' && body[i] != '\t' && body[i] != '\r' && body[i] != '\n') {
        return false;
      }
    }
    return true;
  }

  private OtlpPayload payload() {
    closeGroup();
    return new OtlpPayload(out.array(), out.size(), rows, refused, refusedCount, unknownFields);
  }

  /** Reads one row; the parser stands on its first token and is left on its last. */
  private void row(JsonParser parser) {
    if (index >= limits.maxRecords()) {
      throw RequestRefused.tooLarge("more than " + limits.maxRecords() + " log records");
    }
    record.clear();
    resource.clear();
    scope.clear();
    faultField = null;
    if (parser.currentToken() != JsonToken.START_OBJECT) {
      parser.skipChildren();
      fault("", "is not an object");
      refuse();
      return;
    }
    boolean content = false;
    String name;
    while ((name = parser.nextName()) != null) {
      if (parser.nextToken() != JsonToken.VALUE_NULL) {
        content |= field(name, parser);
      }
    }
    if (faultField == null && !content) {
      fault("body", "is missing, and so are attributes and event_name");
    }
    if (faultField != null) {
      refuse();
    } else {
      append();
    }
  }

  /** Returns whether the field is something worth storing by itself. */
  private boolean field(String name, JsonParser p) {
    switch (name) {
      case "timestamp" -> time(name, p, 1);
      case "observed_timestamp" -> time(name, p, 11);
      case "severity" -> severity(p);
      case "severity_number" -> severityNumber(name, p);
      case "severity_text" -> text(name, p, recordWriter, 3);
      case "service" -> resourceText(name, p, "service.name");
      case "host" -> resourceText(name, p, "host.name");
      case "resource" -> attributes(name, p, resourceWriter, 1);
      case "scope" -> scope(p);
      case "trace_id" -> hex(name, p, 9, 16);
      case "span_id" -> hex(name, p, 10, 8);
      case "flags" -> flags(p);
      case "body" -> {
        int mark = recordWriter.open(5);
        JsonValue.write(p, recordWriter, limits.maxNesting() + 1);
        recordWriter.close(mark);
        return true;
      }
      case "attributes" -> {
        attributes(name, p, recordWriter, 6);
        return true;
      }
      case "event_name" -> {
        text(name, p, recordWriter, 12);
        return true;
      }
      default -> {
        unknownFields++;
        p.skipChildren();
      }
    }
    return false;
  }

  private void time(String name, JsonParser p, int field) {
    try {
      switch (p.currentToken()) {
        case VALUE_STRING -> recordWriter.fixed64(field, Timestamps.ofText(p.getString()));
        case VALUE_NUMBER_INT ->
            recordWriter.fixed64(
                field,
                p.getNumberType() == JsonParser.NumberType.BIG_INTEGER
                    ? Timestamps.ofNumber(p.getString())
                    : Timestamps.ofEpoch(p.getLongValue()));
        case VALUE_NUMBER_FLOAT -> recordWriter.fixed64(field, Timestamps.ofNumber(p.getString()));
        default -> wrongType(name, p, "text or a number");
      }
    } catch (Timestamps.Unusable e) {
      fault(name, e.reason());
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
      fault("severity", "is unknown; known are TRACE, DEBUG, INFO, WARN, ERROR, FATAL and 1 to 24");
      return;
    }
    recordWriter.varint(2, number.getAsInt());
    recordWriter.string(3, text);
  }

  private void severityNumber(String name, JsonParser p) {
    if (p.currentToken() != JsonToken.VALUE_NUMBER_INT) {
      wrongType(name, p, "a number");
      return;
    }
    long number = p.getNumberType() == JsonParser.NumberType.BIG_INTEGER ? -1 : p.getLongValue();
    if (number < 0 || number > 24) {
      fault(name, "is unknown; known are 0 to 24");
      return;
    }
    recordWriter.varint(2, number);
    if (name.equals("severity")) {
      recordWriter.string(3, Severity.textOf((int) number));
    }
  }

  private void text(String name, JsonParser p, OtlpWriter into, int field) {
    if (p.currentToken() == JsonToken.VALUE_STRING) {
      into.string(field, p.getString());
    } else {
      wrongType(name, p, "text");
    }
  }

  private void resourceText(String name, JsonParser p, String key) {
    if (p.currentToken() == JsonToken.VALUE_STRING) {
      resourceWriter.attribute(1, key, p.getString());
    } else {
      wrongType(name, p, "text");
    }
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
        case "name" -> text("scope.name", p, scopeWriter, 1);
        case "version" -> text("scope.version", p, scopeWriter, 2);
        case "attributes" -> attributes("scope.attributes", p, scopeWriter, 3);
        default -> {
          unknownFields++;
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
        recordWriter.bytes(field, id, 0, id.length);
        return;
      }
    } catch (IllegalArgumentException _) {
      // falls through to the verdict
    }
    fault(name, "is not " + 2 * bytes + " hexadecimal digits");
  }

  private void flags(JsonParser p) {
    if (p.currentToken() != JsonToken.VALUE_NUMBER_INT) {
      wrongType("flags", p, "a number");
      return;
    }
    long flags = p.getNumberType() == JsonParser.NumberType.BIG_INTEGER ? -1 : p.getLongValue();
    if (flags < 0 || flags > 0xFFFF_FFFFL) {
      fault("flags", "has more than 32 bits");
      return;
    }
    recordWriter.fixed32(8, (int) flags);
  }

  private void wrongType(String name, JsonParser p, String wanted) {
    p.skipChildren();
    fault(name, "must be " + wanted);
  }

  private void fault(String field, String reason) {
    if (faultField == null) {
      faultField = field;
      faultReason = reason;
    }
  }

  private void refuse() {
    if (refused.size() < IngestLogs.MAX_VERDICTS) {
      refused.add(new Rejection(index, String.valueOf(faultField), faultReason));
    }
    refusedCount++;
    index++;
  }

  private void append() {
    if (resourceMark < 0 || !same(resource, openResource) || !same(scope, openScope)) {
      closeGroup();
      openResource = resource.toByteArray();
      openScope = scope.toByteArray();
      resourceMark = writer.open(1);
      writer.bytes(1, openResource, 0, openResource.length);
      scopeMark = writer.open(2);
      if (openScope.length > 0) {
        writer.bytes(1, openScope, 0, openScope.length);
      }
    }
    writer.bytes(2, record.array(), 0, record.size());
    if (accepted == rows.length) {
      rows = Arrays.copyOf(rows, accepted * 2);
    }
    rows[accepted++] = index++;
  }

  private static boolean same(ByteOutput now, byte[] open) {
    return Arrays.equals(now.array(), 0, now.size(), open, 0, open.length);
  }

  private void closeGroup() {
    if (resourceMark >= 0) {
      writer.close(scopeMark);
      writer.close(resourceMark);
      resourceMark = -1;
    }
  }
}
