package dev.sluice.api.decode;

import dev.sluice.core.domain.Limits;
import dev.sluice.core.domain.Severity;
import dev.sluice.core.ingest.DecodeException;
import dev.sluice.core.ingest.OtlpPayload;
import dev.sluice.core.otlp.ByteOutput;
import dev.sluice.core.otlp.OtlpSchema;
import dev.sluice.core.otlp.OtlpSchema.Field;
import dev.sluice.core.otlp.OtlpSchema.FieldKind;
import dev.sluice.core.otlp.OtlpSchema.Message;
import dev.sluice.core.otlp.OtlpWriter;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.Base64;
import java.util.HexFormat;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;

/**
 * Decodes OTLP in JSON into OTLP in protobuf, message by message, driven by the {@link OtlpSchema}.
 *
 * <p>The mapping is proto3's JSON mapping with OTLP's exceptions: trace and span ids are
 * hexadecimal, enums are integers (enum names are accepted too), field names are lowerCamelCase
 * (snake_case is accepted too), unknown fields are ignored. A value that does not fit the mapping
 * makes the request malformed, as in protobuf.
 */
public final class OtlpJsonDecoder {

  /** The maximum length of an integer in characters, including zeros and an exponent. */
  private static final int MAX_DIGITS = 64;

  private final OtlpWriter out;
  private final int maxDepth;

  private OtlpJsonDecoder(OtlpWriter out, int maxDepth) {
    this.out = out;
    this.maxDepth = maxDepth;
  }

  /**
   * Decodes an {@code ExportLogsServiceRequest} in JSON; an empty body is an empty request.
   *
   * @throws DecodeException if the body is malformed
   */
  public static OtlpPayload read(byte[] body, Limits limits) {
    var out = new ByteOutput(body.length / 2);
    if (body.length > 0) {
      LenientJsonReader.read(
          body,
          0,
          body.length,
          1,
          parser -> {
            out.clear();
            if (parser.nextToken() != JsonToken.START_OBJECT) {
              throw malformed(parser, "an object is expected");
            }
            new OtlpJsonDecoder(new OtlpWriter(out), limits.maxNesting() + 1)
                .readMessage(parser, OtlpSchema.REQUEST, 0);
            if (parser.nextToken() != null) {
              throw malformed(parser, "unexpected content after the end");
            }
            return true;
          });
    }
    return OtlpPayload.of(out.array(), out.size());
  }

  private void readMessage(JsonParser p, Message type, int depth) {
    String name;
    while ((name = p.nextName()) != null) {
      var token = p.nextToken();
      var field = type.field(name);
      if (field == null || token == JsonToken.VALUE_NULL) {
        p.skipChildren();
      } else if (!field.repeated()) {
        readValue(p, field, depth);
      } else if (token == JsonToken.START_ARRAY) {
        while (p.nextToken() != JsonToken.END_ARRAY) {
          readValue(p, field, depth);
        }
      } else {
        throw malformed(p, name + " must be an array");
      }
    }
  }

  private void readValue(JsonParser p, Field field, int depth) {
    int number = field.number();
    switch (field.kind()) {
      case TEXT -> {
        require(p, JsonToken.VALUE_STRING, "text is expected");
        out.writeString(number, p.getString());
      }
      case HEX -> readBytes(p, number, true);
      case BASE64 -> readBytes(p, number, false);
      case INT64 -> out.writeVarint(number, integer(p, Long.MIN_VALUE, Long.MAX_VALUE));
      case UINT32 -> out.writeVarint(number, integer(p, 0, 0xFFFF_FFFFL));
      case ENUM -> out.writeVarint(number, enumeration(p));
      case BOOL -> out.writeVarint(number, bool(p) ? 1 : 0);
      case DOUBLE -> out.writeFixed64(number, Double.doubleToRawLongBits(decimal(p)));
      case FIXED64 -> out.writeFixed64(number, unsigned(p));
      case FIXED32 -> out.writeFixed32(number, (int) integer(p, 0, 0xFFFF_FFFFL));
      case MESSAGE, CONTAINER -> {
        require(p, JsonToken.START_OBJECT, "an object is expected");
        int below = field.kind() == FieldKind.CONTAINER ? depth + 1 : depth;
        int mark = out.beginMessage(number);
        var message = field.message();
        if (message == null || below > maxDepth) {
          p.skipChildren();
        } else {
          readMessage(p, message, below);
        }
        out.endMessage(mark);
      }
    }
  }

  private void readBytes(JsonParser p, int number, boolean hex) {
    require(p, JsonToken.VALUE_STRING, "text is expected");
    try {
      var text = p.getString();
      byte[] bytes =
          hex
              ? HexFormat.of().parseHex(text)
              : Base64.getDecoder().decode(text.replace('-', '+').replace('_', '/'));
      out.writeBytes(number, bytes, 0, bytes.length);
    } catch (IllegalArgumentException _) {
      throw malformed(p, hex ? "hexadecimal digits are expected" : "base64 is expected");
    }
  }

  /**
   * Reads an integer, which may be a JSON string or number, with a fraction of zeros or an
   * exponent. The magnitude is checked by precision and scale first, because the expansion of a
   * number such as 1e999999999 would exhaust time and memory.
   */
  private static BigInteger integer(JsonParser p) {
    switch (p.currentToken()) {
      case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT, VALUE_STRING -> {}
      default -> throw malformed(p, "an integer is expected");
    }
    try {
      var text = p.getString().strip();
      var number = new BigDecimal(text.length() > MAX_DIGITS ? "" : text);
      long digits = (long) number.precision() - number.scale();
      if (number.signum() == 0) {
        return BigInteger.ZERO;
      }
      if (digits > 0 && digits <= 20) {
        return number.toBigIntegerExact();
      }
    } catch (ArithmeticException | NumberFormatException _) {
      // falls through to the exception
    }
    throw malformed(p, "an integer of at most 64 bits is expected");
  }

  private static long integer(JsonParser p, long from, long to) {
    if (p.currentToken() == JsonToken.VALUE_NUMBER_INT
        && p.getNumberType() != JsonParser.NumberType.BIG_INTEGER) {
      long value = p.getLongValue();
      if (value >= from && value <= to) {
        return value;
      }
    }
    var value = integer(p);
    if (value.compareTo(BigInteger.valueOf(from)) < 0
        || value.compareTo(BigInteger.valueOf(to)) > 0) {
      throw malformed(p, "an integer from " + from + " to " + to + " is expected");
    }
    return value.longValue();
  }

  private static long unsigned(JsonParser p) {
    var value = integer(p);
    if (value.signum() < 0 || value.bitLength() > 64) {
      throw malformed(p, "an unsigned 64-bit integer is expected");
    }
    return value.longValue();
  }

  /**
   * Reads a severity number as a name or an integer. The walker validates the range of severities,
   * so that an unknown number rejects one record; this method checks only the range of an enum.
   */
  private static long enumeration(JsonParser p) {
    if (p.currentToken() == JsonToken.VALUE_STRING) {
      var name = p.getString();
      var severity = name.replaceFirst("^SEVERITY_NUMBER_", "");
      if (severity.equals("UNSPECIFIED")) {
        return 0;
      }
      var number = Severity.numberOf(severity);
      if (number.isPresent()) {
        return number.getAsInt();
      }
    }
    return integer(p, Integer.MIN_VALUE, Integer.MAX_VALUE);
  }

  private static boolean bool(JsonParser p) {
    return switch (p.currentToken()) {
      case VALUE_TRUE -> true;
      case VALUE_FALSE -> false;
      default -> throw malformed(p, "true or false is expected");
    };
  }

  private static double decimal(JsonParser p) {
    return switch (p.currentToken()) {
      case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> requireFinite(p, p.getDoubleValue());
      case VALUE_STRING ->
          switch (p.getString()) {
            case "NaN" -> Double.NaN;
            case "Infinity" -> Double.POSITIVE_INFINITY;
            case "-Infinity" -> Double.NEGATIVE_INFINITY;
            default -> requireFinite(p, parseDouble(p));
          };
      default -> throw malformed(p, "a number is expected");
    };
  }

  private static double requireFinite(JsonParser p, double value) {
    if (!Double.isFinite(value)) {
      throw malformed(p, "a number within the range of a double is expected");
    }
    return value;
  }

  private static double parseDouble(JsonParser p) {
    try {
      return Double.parseDouble(p.getString());
    } catch (NumberFormatException _) {
      throw malformed(p, "a number is expected");
    }
  }

  private static void require(JsonParser p, JsonToken token, String message) {
    if (p.currentToken() != token) {
      throw malformed(p, message);
    }
  }

  private static DecodeException malformed(JsonParser p, String message) {
    var location = p.currentTokenLocation();
    return DecodeException.malformed(
        "malformed OTLP at line %d, column %d: %s"
            .formatted(location.getLineNr(), location.getColumnNr(), message));
  }
}
