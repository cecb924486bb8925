package dev.sluice.api.decode;

import dev.sluice.core.otlp.OtlpWriter;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/**
 * Any JSON value as OTLP's {@code AnyValue}.
 *
 * <p>Below {@code depth} levels nothing is written: that is deep enough for the walker to see that
 * it is too deep, and bounds the recursion. Integers beyond 64 bits keep their digits, as text.
 */
final class JsonAnyValueEncoder {
  private JsonAnyValueEncoder() {}

  /** Writes the fields of one {@code AnyValue} into the message that is open. */
  static void write(JsonParser p, OtlpWriter out, int depth) {
    switch (p.currentToken()) {
      case VALUE_STRING -> out.writeString(1, p.getString());
      case VALUE_TRUE -> out.writeVarint(2, 1);
      case VALUE_FALSE -> out.writeVarint(2, 0);
      case VALUE_NUMBER_INT -> {
        if (p.getNumberType() == JsonParser.NumberType.BIG_INTEGER) {
          out.writeString(1, p.getString());
        } else {
          out.writeVarint(3, p.getLongValue());
        }
      }
      case VALUE_NUMBER_FLOAT -> {
        double number = p.getDoubleValue();
        if (Double.isFinite(number)) {
          out.writeFixed64(4, Double.doubleToRawLongBits(number));
        } else {
          out.writeString(1, p.getString());
        }
      }
      case START_ARRAY -> {
        int mark = out.beginMessage(5);
        if (depth == 0) {
          p.skipChildren();
        } else {
          while (p.nextToken() != JsonToken.END_ARRAY) {
            int element = out.beginMessage(1);
            write(p, out, depth - 1);
            out.endMessage(element);
          }
        }
        out.endMessage(mark);
      }
      case START_OBJECT -> {
        int mark = out.beginMessage(6);
        writeEntries(p, out, 1, depth);
        out.endMessage(mark);
      }
      default -> {} // null is the value that is not set
    }
  }

  /** Writes an object's members as {@code KeyValue}s in the given field of the open message. */
  static void writeEntries(JsonParser p, OtlpWriter out, int field, int depth) {
    if (depth == 0) {
      p.skipChildren();
      return;
    }
    String name;
    while ((name = p.nextName()) != null) {
      p.nextToken();
      writeEntry(name, p, out, field, depth);
    }
  }

  /** Writes one {@code KeyValue} whose value is the one on which the parser stands. */
  static void writeEntry(String key, JsonParser p, OtlpWriter out, int field, int depth) {
    int pair = out.beginMessage(field);
    out.writeString(1, key);
    int value = out.beginMessage(2);
    write(p, out, depth - 1);
    out.endMessage(value);
    out.endMessage(pair);
  }
}
