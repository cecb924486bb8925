package dev.sluice.core.otlp;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.math.BigDecimal;
import java.math.MathContext;
import java.util.Arrays;
import java.util.Base64;
import java.util.TreeMap;

/**
 * Formats attribute values and bodies as strings, in the same form as the OpenTelemetry Collector,
 * so that rows written by both are consistent in one table.
 *
 * <p>Text is unchanged; numbers are in ECMAScript notation; bytes are in base64; lists and maps are
 * JSON with sorted keys and with {@code < > &} and the line separators U+2028 and U+2029 escaped,
 * as Go's JSON encoder does; a value that was never set is an empty string. The Collector has no
 * usable form for non-finite numbers; this class writes {@code NaN}, {@code +Inf} and {@code -Inf},
 * in quotes inside JSON.
 */
public final class AnyValueFormatter {
  private static final byte[] HEX = "0123456789abcdef".getBytes(UTF_8);

  private AnyValueFormatter() {}

  /**
   * Appends the string form of a value that {@link OtlpWalker} has accepted.
   *
   * @param bytes the array that the value refers to
   */
  public static void append(AnyValue value, byte[] bytes, ByteOutput out) {
    switch (value.kind()) {
      case EMPTY -> {}
      case STRING -> out.write(bytes, value.offset(), value.length());
      case BOOL -> writeAscii(value.asBool() ? "true" : "false", out);
      case INT -> writeAscii(Long.toString(value.asLong()), out);
      case DOUBLE -> writeAscii(formatNumber(value.asDouble()), out);
      case BYTES -> writeBase64(bytes, value.offset(), value.length(), out);
      case ARRAY, MAP -> writeJson(value, bytes, out);
    }
  }

  /**
   * Appends attributes as a JSON object with sorted keys, every value in its string form. The
   * result does not depend on the order in which the attributes were sent.
   */
  public static void append(Attributes attributes, byte[] bytes, ByteOutput out) {
    var sorted = new TreeMap<String, AnyValue>();
    for (int i = 0; i < attributes.size(); i++) {
      sorted.put(
          new String(bytes, attributes.keyOffset(i), attributes.keyLength(i), UTF_8),
          attributes.value(i));
    }
    var text = new ByteOutput(64);
    int separator = '{';
    for (var attribute : sorted.entrySet()) {
      out.writeByte(separator);
      separator = ',';
      var key = attribute.getKey().getBytes(UTF_8);
      writeQuoted(key, 0, key.length, out);
      out.writeByte(':');
      text.clear();
      append(attribute.getValue(), bytes, text);
      writeQuoted(text.array(), 0, text.size(), out);
    }
    if (separator == '{') {
      out.writeByte('{');
    }
    out.writeByte('}');
  }

  private static void writeAscii(String text, ByteOutput out) {
    out.writeUtf8(text);
  }

  private static void writeBase64(byte[] bytes, int offset, int length, ByteOutput out) {
    var content = Arrays.copyOfRange(bytes, offset, offset + length);
    out.write(Base64.getEncoder().encode(content));
  }

  static String formatNumber(double value) {
    if (Double.isNaN(value)) {
      return "NaN";
    }
    if (Double.isInfinite(value)) {
      return value > 0 ? "+Inf" : "-Inf";
    }
    if (value == 0) {
      return 1 / value < 0 ? "-0" : "0";
    }
    double magnitude = Math.abs(value);
    var decimal = new BigDecimal(Double.toString(value)).stripTrailingZeros();
    if (magnitude >= 1e-6 && magnitude < 1e21) {
      return decimal.toPlainString();
    }
    if (decimal.precision() == 2) { // Java may write two digits where one suffices: 4.9E-324
      var shorter = decimal.round(new MathContext(1)).stripTrailingZeros();
      decimal = shorter.doubleValue() == value ? shorter : decimal;
    }
    var digits = decimal.unscaledValue().abs().toString();
    int exponent = digits.length() - 1 - decimal.scale();
    var fraction = digits.length() > 1 ? "." + digits.substring(1) : "";
    return (value < 0 ? "-" : "")
        + digits.charAt(0)
        + fraction
        + "e"
        + (exponent < 0 ? "-" : "+")
        + Math.abs(exponent);
  }

  private static void writeJson(AnyValue value, byte[] bytes, ByteOutput out) {
    try {
      var in = new ProtobufInput();
      in.bytes = bytes;
      in.position = value.offset();
      int end = value.offset() + value.length();
      if (value.kind() == AnyValue.Kind.ARRAY) {
        writeArray(in, end, out);
      } else {
        writeMap(in, end, out);
      }
    } catch (MalformedOtlpException e) {
      throw new IllegalArgumentException("the value is not valid OTLP", e);
    }
  }

  private static void writeArray(ProtobufInput in, int end, ByteOutput out)
      throws MalformedOtlpException {
    out.writeByte('[');
    boolean first = true;
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag != OtlpFields.ARRAY_VALUE_VALUES_TAG) {
        in.skip(tag, end);
        continue;
      }
      if (!first) {
        out.writeByte(',');
      }
      first = false;
      writeElement(in, in.readContentEnd(end), out);
    }
    out.writeByte(']');
  }

  private record ByteRange(int from, int to) {
    static final ByteRange EMPTY = new ByteRange(0, 0);
  }

  private static void writeMap(ProtobufInput in, int end, ByteOutput out)
      throws MalformedOtlpException {
    // UTF-16 order differs from Go's byte order only for supplementary characters, which are rare
    // in keys
    var entries = new TreeMap<String, ByteRange>();
    while (in.position < end) {
      int tag = in.readTag(end);
      if (tag != OtlpFields.KEY_VALUE_LIST_VALUES_TAG) {
        in.skip(tag, end);
        continue;
      }
      int close = in.readContentEnd(end);
      var key = "";
      var range = ByteRange.EMPTY;
      while (in.position < close) {
        int inner = in.readTag(close);
        switch (inner) {
          case OtlpFields.KEY_VALUE_KEY_TAG -> {
            int keyEnd = in.readContentEnd(close);
            key = new String(in.bytes, in.position, keyEnd - in.position, UTF_8);
            in.position = keyEnd;
          }
          case OtlpFields.KEY_VALUE_VALUE_TAG -> {
            int valueEnd = in.readContentEnd(close);
            range = new ByteRange(in.position, valueEnd);
            in.position = valueEnd;
          }
          default -> in.skip(inner, close);
        }
      }
      entries.put(key, range);
    }
    out.writeByte('{');
    boolean first = true;
    for (var entry : entries.entrySet()) {
      if (!first) {
        out.writeByte(',');
      }
      first = false;
      var key = entry.getKey().getBytes(UTF_8);
      writeQuoted(key, 0, key.length, out);
      out.writeByte(':');
      in.position = entry.getValue().from();
      writeElement(in, entry.getValue().to(), out);
    }
    out.writeByte('}');
    in.position = end;
  }

  /** Writes an {@code AnyValue}; of several fields the last is the value, as in any oneof. */
  private static void writeElement(ProtobufInput in, int end, ByteOutput out)
      throws MalformedOtlpException {
    int start = out.size();
    writeAscii("null", out);
    while (in.position < end) {
      int tag = in.readTag(end);
      switch (tag) {
        case OtlpFields.ANY_VALUE_STRING_VALUE_TAG -> {
          out.truncate(start);
          int close = in.readContentEnd(end);
          writeQuoted(in.bytes, in.position, close - in.position, out);
          in.position = close;
        }
        case OtlpFields.ANY_VALUE_BOOL_VALUE_TAG -> {
          out.truncate(start);
          writeAscii(in.readVarint(end) != 0 ? "true" : "false", out);
        }
        case OtlpFields.ANY_VALUE_INT_VALUE_TAG -> {
          out.truncate(start);
          writeAscii(Long.toString(in.readVarint(end)), out);
        }
        case OtlpFields.ANY_VALUE_DOUBLE_VALUE_TAG -> {
          out.truncate(start);
          double value = Double.longBitsToDouble(in.readFixed64(end));
          var text = formatNumber(value);
          writeAscii(Double.isFinite(value) ? text : '"' + text + '"', out);
        }
        case OtlpFields.ANY_VALUE_ARRAY_VALUE_TAG -> {
          out.truncate(start);
          int close = in.readContentEnd(end);
          writeArray(in, close, out);
        }
        case OtlpFields.ANY_VALUE_KVLIST_VALUE_TAG -> {
          out.truncate(start);
          int close = in.readContentEnd(end);
          writeMap(in, close, out);
        }
        case OtlpFields.ANY_VALUE_BYTES_VALUE_TAG -> {
          out.truncate(start);
          int close = in.readContentEnd(end);
          out.writeByte('"');
          writeBase64(in.bytes, in.position, close - in.position, out);
          out.writeByte('"');
          in.position = close;
        }
        default -> in.skip(tag, end);
      }
    }
  }

  private static void writeQuoted(byte[] bytes, int offset, int length, ByteOutput out) {
    out.writeByte('"');
    for (int i = offset; i < offset + length; i++) {
      byte b = bytes[i];
      switch (b) {
        case '"', '\\' -> {
          out.writeByte('\\');
          out.writeByte(b);
        }
        case '\n' -> writeAscii("\\n", out);
        case '\r' -> writeAscii("\\r", out);
        case '\t' -> writeAscii("\\t", out);
        case '\b' -> writeAscii("\\b", out);
        case '\f' -> writeAscii("\\f", out);
        case (byte) 0xE2 -> {
          if (isLineSeparator(bytes, i, offset + length)) {
            writeAscii("\\u202", out);
            out.writeByte(HEX[bytes[i + 2] & 0xF]);
            i += 2;
          } else {
            out.writeByte(b);
          }
        }
        default -> {
          if ((b >= 0 && b < 0x20) || b == '<' || b == '>' || b == '&') {
            writeAscii("\\u00", out);
            out.writeByte(HEX[b >> 4]);
            out.writeByte(HEX[b & 0xF]);
          } else {
            out.writeByte(b);
          }
        }
      }
    }
    out.writeByte('"');
  }

  /** Whether U+2028 or U+2029 begins at {@code index}: line terminators in older JavaScript. */
  private static boolean isLineSeparator(byte[] bytes, int index, int end) {
    return end - index > 2 && bytes[index + 1] == (byte) 0x80 && (bytes[index + 2] & 0xFE) == 0xA8;
  }
}
