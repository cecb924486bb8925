package dev.sluice.wal;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.Message;
import com.google.protobuf.WireFormat;
import io.opentelemetry.proto.common.v1.AnyValue;
import io.opentelemetry.proto.common.v1.ArrayValue;
import io.opentelemetry.proto.common.v1.KeyValueList;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.random.RandomGenerator;

/**
 * Writes a message in unusual forms that protobuf allows: fields in any order, messages in two
 * parts, values that later values replace, and unknown fields.
 */
final class ScatteredOtlp {
  private static final int UNKNOWN_FIELD = 77;

  private final RandomGenerator random;

  ScatteredOtlp(RandomGenerator random) {
    this.random = random;
  }

  byte[] write(Message message) {
    var parts = parts(message);
    var out = new ByteArrayOutputStream();
    while (!parts.isEmpty()) {
      // the parts of one field must stay in their order
      var fieldParts = parts.get(random.nextInt(parts.size()));
      out.writeBytes(fieldParts.removeFirst());
      if (fieldParts.isEmpty()) {
        parts.remove(fieldParts);
      }
      if (random.nextInt(8) == 0) {
        out.writeBytes(field(UNKNOWN_FIELD, new byte[random.nextInt(4)]));
      }
    }
    return out.toByteArray();
  }

  /** Returns for each field that is set its encoded parts, to be written in their order. */
  private List<List<byte[]>> parts(Message message) {
    var parts = new ArrayList<List<byte[]>>();
    if (message instanceof AnyValue any && random.nextBoolean()) {
      // one list for all fields: the last field of a oneof is the valid one
      var oneofParts = new ArrayList<byte[]>();
      oneofParts.add(AnyValue.newBuilder().setIntValue(random.nextInt()).build().toByteArray());
      any.getAllFields().forEach((field, value) -> oneofParts.addAll(encoded(field, value)));
      if (oneofParts.size() > 1) {
        parts.add(oneofParts);
        return parts;
      }
    }
    message.getAllFields().forEach((field, value) -> parts.add(encoded(field, value)));
    return parts;
  }

  private List<byte[]> encoded(FieldDescriptor field, Object value) {
    var encoded = new ArrayList<byte[]>();
    if (field.isRepeated()) {
      ((List<?>) value).forEach(element -> encoded.add(encode(field, element)));
    } else if (value instanceof Message message) {
      if (isContainer(message) || random.nextBoolean()) {
        encoded.add(encode(field, message));
      } else {
        encoded.addAll(split(field, message));
      }
    } else {
      if (field.getContainingOneof() == null && random.nextInt(4) == 0) {
        encoded.add(encode(field, otherValue(field)));
      }
      encoded.add(encode(field, value));
    }
    return encoded;
  }

  /** Whether the message is a list or map, whose last part replaces it, unlike in protobuf-java. */
  private static boolean isContainer(Message message) {
    return message instanceof ArrayValue || message instanceof KeyValueList;
  }

  private List<byte[]> split(FieldDescriptor field, Message message) {
    var first = message.newBuilderForType();
    var second = message.newBuilderForType();
    message
        .getAllFields()
        .forEach((inner, value) -> (random.nextBoolean() ? first : second).setField(inner, value));
    return List.of(encode(field, first.build()), encode(field, second.build()));
  }

  private static Object otherValue(FieldDescriptor field) {
    return switch (field.getJavaType()) {
      case STRING -> "other";
      case LONG -> 5L;
      case INT -> 5;
      case BYTE_STRING -> ByteString.copyFromUtf8("other");
      case ENUM -> field.getEnumType().findValueByNumber(5);
      case BOOLEAN, DOUBLE, FLOAT, MESSAGE -> throw new IllegalArgumentException(field.getName());
    };
  }

  private byte[] encode(FieldDescriptor field, Object value) {
    if (value instanceof Message message) {
      return field(field.getNumber(), write(message));
    }
    var message = field.getContainingType();
    return DynamicMessage.newBuilder(message).setField(field, value).build().toByteArray();
  }

  private static byte[] field(int number, byte[] content) {
    var bytes = new ByteArrayOutputStream();
    var out = CodedOutputStream.newInstance(bytes);
    try {
      out.writeTag(number, WireFormat.WIRETYPE_LENGTH_DELIMITED);
      out.writeByteArrayNoTag(content);
      out.flush();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }
}
