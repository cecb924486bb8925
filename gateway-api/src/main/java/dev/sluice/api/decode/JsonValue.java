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
final class JsonValue {
  private JsonValue() {}

  /** Writes the fields of one {@code AnyValue} into the message that is open. */
  static void write(JsonParser p, OtlpWriter out, int depth) {
    switch (p.currentToken()) {
      case VALUE_STRING -> out.string(1, p.getString());
      case VALUE_TRUE -> out.varint(2, 1);
      case VALUE_FALSE -> out.varint(2, 0);
      case VALUE_NUMBER_INT -> {
        if (p.getNumberType() == JsonParser.NumberType.BIG_INTEGER) {
          out.string(1, p.getString());
        } else {
          out.varint(3, p.getLongValue());
        }
      }
      case VALUE_NUMBER_FLOAT -> {
        double number = p.getDoubleValue();
        if (Double.isFinite(number)) {
          out.fixed64(4, Double.doubleToRawLongBits(number));
        } else {
          out.string(1, p.getString());
        }
      }
      case START_ARRAY -> {
        int mark = out.open(5);
        if (depth == 0) {
          p.skipChildren();
        } else {
          while (p.nextToken() != JsonToken.END_ARRAY) {
            int element = out.open(1);
            write(p, out, depth - 1);
            out.close(element);
          }
        }
        out.close(mark);
      }
      case START_OBJECT -> {
        int mark = out.open(6);
        writeEntries(p, out, 1, depth);
        out.close(mark);
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
    int pair = out.open(field);
    out.string(1, key);
    int value = out.open(2);
    write(p, out, depth - 1);
    out.close(value);
    out.close(pair);
  }
}
