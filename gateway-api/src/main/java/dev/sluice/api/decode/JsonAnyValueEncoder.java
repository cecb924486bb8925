package dev.sluice.api.decode;

import dev.sluice.core.otlp.OtlpFields;
import dev.sluice.core.otlp.OtlpWriter;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/**
 * Encodes any JSON value as OTLP's {@code AnyValue}.
 *
 * <p>Levels below {@code depth} are skipped, which bounds the recursion. Callers pass one level
 * more than the limit, so that the walker still sees that the value is nested too deeply. An
 * integer of more than 64 bits becomes a string of its digits.
 */
public final class JsonAnyValueEncoder {
  private JsonAnyValueEncoder() {}

  /**
   * Writes the value at the parser's current token as the fields of one {@code AnyValue} into the
   * open message.
   *
   * @param depth the number of nested levels to encode
   */
  public static void write(JsonParser p, OtlpWriter out, int depth) {
    switch (p.currentToken()) {
      case VALUE_STRING -> out.writeString(OtlpFields.ANY_VALUE_STRING_VALUE, p.getString());
      case VALUE_TRUE -> out.writeVarint(OtlpFields.ANY_VALUE_BOOL_VALUE, 1);
      case VALUE_FALSE -> out.writeVarint(OtlpFields.ANY_VALUE_BOOL_VALUE, 0);
      case VALUE_NUMBER_INT -> {
        if (p.getNumberType() == JsonParser.NumberType.BIG_INTEGER) {
          out.writeString(OtlpFields.ANY_VALUE_STRING_VALUE, p.getString());
        } else {
          out.writeVarint(OtlpFields.ANY_VALUE_INT_VALUE, p.getLongValue());
        }
      }
      case VALUE_NUMBER_FLOAT -> {
        double number = p.getDoubleValue();
        if (Double.isFinite(number)) {
          out.writeFixed64(OtlpFields.ANY_VALUE_DOUBLE_VALUE, Double.doubleToRawLongBits(number));
        } else {
          out.writeString(OtlpFields.ANY_VALUE_STRING_VALUE, p.getString());
        }
      }
      case START_ARRAY -> {
        int mark = out.beginMessage(OtlpFields.ANY_VALUE_ARRAY_VALUE);
        if (depth == 0) {
          p.skipChildren();
        } else {
          while (p.nextToken() != JsonToken.END_ARRAY) {
            int element = out.beginMessage(OtlpFields.ARRAY_VALUE_VALUES);
            write(p, out, depth - 1);
            out.endMessage(element);
          }
        }
        out.endMessage(mark);
      }
      case START_OBJECT -> {
        int mark = out.beginMessage(OtlpFields.ANY_VALUE_KVLIST_VALUE);
        writeEntries(p, out, OtlpFields.KEY_VALUE_LIST_VALUES, depth);
        out.endMessage(mark);
      }
      default -> {} // null becomes a value that is not set
    }
  }

  /**
   * Writes the members of the JSON object as {@code KeyValue}s into the given field of the open
   * message.
   */
  public static void writeEntries(JsonParser p, OtlpWriter out, int field, int depth) {
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

  /** Writes one {@code KeyValue} with the value at the parser's current token. */
  public static void writeEntry(String key, JsonParser p, OtlpWriter out, int field, int depth) {
    int pair = out.beginMessage(field);
    out.writeString(OtlpFields.KEY_VALUE_KEY, key);
    int value = out.beginMessage(OtlpFields.KEY_VALUE_VALUE);
    write(p, out, depth - 1);
    out.endMessage(value);
    out.endMessage(pair);
  }
}
