package dev.sluice.api.decode;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.otlp.MalformedOtlpException;
import dev.sluice.core.otlp.OtlpSchema;
import dev.sluice.core.otlp.OtlpSchema.Field;
import dev.sluice.core.otlp.OtlpSchema.FieldKind;
import dev.sluice.core.otlp.OtlpSchema.Message;
import dev.sluice.core.otlp.ProtobufInput;
import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import tools.jackson.core.JsonGenerator;

/**
 * Encodes OTLP in protobuf as OTLP in JSON, driven by the {@link OtlpSchema}. {@link
 * OtlpJsonDecoder} can decode everything that this class writes: ids are hexadecimal, 64-bit
 * integers are strings, non-finite numbers are written by name. Fields outside the schema are left
 * out.
 *
 * <p>Parts of a message are merged as in protobuf; an {@code AnyValue} is the field that was set
 * last.
 */
public final class OtlpJsonEncoder {
  private final JsonGenerator json;

  private OtlpJsonEncoder(JsonGenerator json) {
    this.json = json;
  }

  /** The value of a field: the bits of a number, or the content of any other kind. */
  private record Value(long bits, byte[] bytes) {}

  /**
   * Returns the JSON of a request.
   *
   * @param otlp an {@code ExportLogsServiceRequest} that was validated before
   * @throws IllegalArgumentException if the bytes are malformed
   */
  public static String encode(byte[] otlp) {
    return new String(
        Json.write(
            json -> {
              try {
                new OtlpJsonEncoder(json).writeMessage(otlp, OtlpSchema.REQUEST);
              } catch (MalformedOtlpException e) {
                throw new IllegalArgumentException("not valid OTLP: " + e.getMessage(), e);
              }
            }),
        UTF_8);
  }

  private void writeMessage(byte[] bytes, Message type) throws MalformedOtlpException {
    json.writeStartObject();
    for (var entry : fields(bytes, type).entrySet()) {
      var field = entry.getKey();
      var values = entry.getValue();
      json.writeName(field.name());
      if (field.repeated()) {
        json.writeStartArray();
        for (var value : values) {
          writeValue(value, field);
        }
        json.writeEndArray();
      } else if (field.kind() == FieldKind.MESSAGE) {
        writeValue(new Value(0, concat(values)), field);
      } else {
        writeValue(values.getLast(), field);
      }
    }
    json.writeEndObject();
  }

  private static Map<Field, List<Value>> fields(byte[] bytes, Message type)
      throws MalformedOtlpException {
    var fields = new TreeMap<Integer, List<Value>>();
    var in = new ProtobufInput();
    in.bytes = bytes;
    while (in.position < bytes.length) {
      int tag = in.readTag(bytes.length);
      var field = type.field(tag >>> 3);
      if (field == null || (tag & 7) != wireType(field.kind())) {
        in.skip(tag, bytes.length);
        continue;
      }
      if (type == OtlpSchema.ANY_VALUE) {
        fields.clear();
      }
      fields.computeIfAbsent(field.number(), _ -> new ArrayList<>()).add(read(in, tag & 7));
    }
    var named = new LinkedHashMap<Field, List<Value>>();
    fields.forEach(
        (number, values) -> {
          var field = type.field(number);
          if (field != null) {
            named.put(field, values);
          }
        });
    return named;
  }

  private static Value read(ProtobufInput in, int wireType) throws MalformedOtlpException {
    int end = in.bytes.length;
    return switch (wireType) {
      case ProtobufInput.VARINT -> new Value(in.readVarint(end), new byte[0]);
      case ProtobufInput.FIXED64 -> new Value(in.readFixed64(end), new byte[0]);
      case ProtobufInput.FIXED32 -> new Value(in.readFixed32(end), new byte[0]);
      default -> {
        int close = in.readContentEnd(end);
        var content = Arrays.copyOfRange(in.bytes, in.position, close);
        in.position = close;
        yield new Value(0, content);
      }
    };
  }

  private static byte[] concat(List<Value> pieces) {
    if (pieces.size() == 1) {
      return pieces.getFirst().bytes();
    }
    var joined = new ByteArrayOutputStream();
    pieces.forEach(piece -> joined.writeBytes(piece.bytes()));
    return joined.toByteArray();
  }

  private static int wireType(FieldKind kind) {
    return switch (kind) {
      case INT64, UINT32, ENUM, BOOL -> ProtobufInput.VARINT;
      case DOUBLE, FIXED64 -> ProtobufInput.FIXED64;
      case FIXED32 -> ProtobufInput.FIXED32;
      case TEXT, HEX, BASE64, MESSAGE, CONTAINER -> ProtobufInput.BYTES;
    };
  }

  private void writeValue(Value value, Field field) throws MalformedOtlpException {
    switch (field.kind()) {
      case TEXT -> json.writeString(new String(value.bytes(), UTF_8));
      case HEX -> json.writeString(HexFormat.of().formatHex(value.bytes()));
      case BASE64 -> json.writeString(Base64.getEncoder().encodeToString(value.bytes()));
      case INT64 -> json.writeString(Long.toString(value.bits()));
      case FIXED64 -> json.writeString(Long.toUnsignedString(value.bits()));
      case UINT32, FIXED32 -> json.writeNumber(value.bits() & 0xFFFF_FFFFL);
      case ENUM -> json.writeNumber((int) value.bits());
      case BOOL -> json.writeBoolean(value.bits() != 0);
      case DOUBLE -> writeNumber(Double.longBitsToDouble(value.bits()));
      case MESSAGE, CONTAINER -> {
        var type = field.message();
        if (type != null) {
          writeMessage(value.bytes(), type);
        }
      }
    }
  }

  private void writeNumber(double value) {
    if (Double.isFinite(value)) {
      json.writeNumber(value);
    } else {
      json.writeString(Double.toString(value));
    }
  }
}
