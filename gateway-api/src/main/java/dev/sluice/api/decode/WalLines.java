package dev.sluice.api.decode;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.Severity;
import dev.sluice.core.ingest.OtlpPayload;
import dev.sluice.core.otlp.MalformedOtlpException;
import dev.sluice.core.otlp.OtlpRecord;
import dev.sluice.core.otlp.OtlpRecordVisitor;
import dev.sluice.core.otlp.OtlpWalker;
import java.util.Arrays;
import java.util.Map;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/**
 * Lines of a write-ahead log as OTLP: flat ones, {@code ts}, {@code level}, {@code _msg} and
 * whatever the application added, and Sluice's own, which are OTLP in JSON. For one request.
 */
final class WalLines {
  private final OtlpRows rows;
  private final Limits limits;
  private final Map<String, String> resource;

  WalLines(Map<String, String> resource, Limits limits, int sizeHint) {
    this.rows = new OtlpRows(limits, sizeHint);
    this.limits = limits;
    this.resource = resource;
  }

  /**
   * @throws Undecodable when it cannot be read at all
   */
  void line(byte[] bytes, int from, int to) {
    rows.begin();
    boolean own = JsonText.read(bytes, from, to, 1, this::flat);
    if (own) {
      own(Arrays.copyOfRange(bytes, from, to));
    } else {
      rows.end();
    }
  }

  /** Reads a flat line; returns true when it turns out to be one of Sluice's own. */
  private boolean flat(JsonParser p) {
    rows.begin();
    if (p.nextToken() != JsonToken.START_OBJECT) {
      throw Undecodable.malformed("is not an object");
    }
    resource.forEach((key, value) -> rows.resource.writeAttribute(1, key, value));
    boolean timed = false;
    boolean levelled = false;
    boolean said = false;
    boolean content = false;
    String name;
    while ((name = p.nextName()) != null) {
      var token = p.nextToken();
      if (name.equals("resourceLogs") && token == JsonToken.START_ARRAY) {
        return true;
      } else if (name.equals("ts") && !timed) {
        timed = true;
        time(p);
      } else if (name.equals("level") && !levelled && token == JsonToken.VALUE_STRING) {
        levelled = true;
        severity(p.getString());
      } else if (name.equals("_msg") && !said) {
        said = true;
        body(p);
      } else { // of equal names the first is the logger's, the others are the application's
        JsonValue.writeEntry(name, p, rows.record, 6, limits.maxNesting() + 1);
        content = true;
      }
    }
    if (!said && !content) {
      rows.fault("_msg", "is missing, and so is anything else");
    }
    JsonText.requireEnd(p, 1);
    return false;
  }

  private void time(JsonParser p) {
    try {
      rows.record.writeFixed64(1, Timestamps.of(p));
    } catch (Timestamps.Unusable e) {
      rows.fault("ts", e.reason());
    }
  }

  /** A level that nobody knows stays as the text that it is. */
  private void severity(String level) {
    Severity.numberOf(level).ifPresent(number -> rows.record.writeVarint(2, number));
    rows.record.writeString(3, level);
  }

  private void body(JsonParser p) {
    int mark = rows.record.beginMessage(5);
    JsonValue.write(p, rows.record, limits.maxNesting() + 1);
    rows.record.endMessage(mark);
  }

  private void own(byte[] line) {
    var otlp = OtlpJson.read(line, limits);
    int records = records(otlp);
    if (records != 1) {
      throw Undecodable.malformed("has " + records + " log records instead of 1");
    }
    rows.end(otlp.bytes(), otlp.length());
  }

  private static int records(OtlpPayload otlp) {
    var count = new int[1];
    var counting =
        new OtlpRecordVisitor() {
          @Override
          public void visitRecord(OtlpRecord log) {
            count[0]++;
          }

          @Override
          public void visitRejected(int ordinal, String field, String reason) {
            count[0]++; // the judgement that counts is still to come
          }
        };
    try {
      new OtlpWalker(Limits.TRUSTED).walk(otlp.bytes(), 0, otlp.length(), counting);
    } catch (MalformedOtlpException e) {
      throw Undecodable.malformed(String.valueOf(e.getMessage()));
    }
    return count[0];
  }

  OtlpPayload payload() {
    return rows.payload();
  }
}
