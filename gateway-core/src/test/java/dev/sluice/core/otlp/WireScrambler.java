package dev.sluice.core.otlp;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor.Type;
import com.google.protobuf.WireFormat;
import io.opentelemetry.proto.common.v1.AnyValue;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.random.RandomGenerator;

/**
 * Re-encodes a message in an unusual form that proto3 permits: fields in any order, singular
 * messages in two parts, repeated scalars, unknown fields and unexpected wire types between them,
 * varints that are longer than necessary. Protobuf-java defines the meaning of the result.
 */
final class WireScrambler {
  private final RandomGenerator random;

  WireScrambler(RandomGenerator random) {
    this.random = random;
  }

  byte[] scramble(byte[] message, Descriptor type) throws IOException {
    var pieces = new ArrayList<byte[]>();
    for (var field : byNumber(message)) {
      pieces.addAll(scrambled(field, type));
      pieces.add(new byte[0]); // a boundary across which later parts may move
    }
    return joined(shuffled(pieces));
  }

  /** Shuffles the fields; fields with the same number keep their order, which is significant. */
  private List<byte[]> shuffled(List<byte[]> pieces) {
    var runs = new ArrayList<List<byte[]>>();
    runs.add(new ArrayList<>());
    for (var piece : pieces) {
      if (piece.length == 0) {
        runs.add(new ArrayList<>());
      } else {
        runs.getLast().add(piece);
      }
    }
    var out = new ArrayList<byte[]>();
    runs.removeIf(List::isEmpty);
    while (!runs.isEmpty()) {
      var run = runs.get(random.nextInt(runs.size()));
      out.add(run.removeFirst());
      runs.removeIf(List::isEmpty);
      if (random.nextInt(6) == 0) {
        out.add(unknown());
      }
    }
    return out;
  }

  private record Field(int number, int wireType, List<byte[]> values) {}

  private static List<Field> byNumber(byte[] message) throws IOException {
    var fields = new LinkedHashMap<Integer, Field>();
    var in = CodedInputStream.newInstance(message);
    for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
      int number = WireFormat.getTagFieldNumber(tag);
      int wireType = WireFormat.getTagWireType(tag);
      fields
          .computeIfAbsent(number, _ -> new Field(number, wireType, new ArrayList<>()))
          .values()
          .add(value(in, tag, message));
    }
    return List.copyOf(fields.values());
  }

  /** Returns the bytes of a value, without its length prefix if it has one. */
  private static byte[] value(CodedInputStream in, int tag, byte[] message) throws IOException {
    if (WireFormat.getTagWireType(tag) == WireFormat.WIRETYPE_LENGTH_DELIMITED) {
      return in.readByteArray();
    }
    int start = in.getTotalBytesRead();
    in.skipField(tag);
    return Arrays.copyOfRange(message, start, in.getTotalBytesRead());
  }

  private List<byte[]> scrambled(Field field, Descriptor type) throws IOException {
    var pieces = new ArrayList<byte[]>();
    var known = type.findFieldByNumber(field.number());
    for (var value : field.values()) {
      if (known.getType() == Type.MESSAGE) {
        pieces.addAll(nested(field.number(), value, known));
      } else {
        if (!known.isRepeated() && type != AnyValue.getDescriptor() && random.nextInt(4) == 0) {
          pieces.add(scalarBefore(field, value));
        }
        pieces.add(encoded(field.number(), field.wireType(), value));
      }
    }
    if (random.nextInt(5) == 0) {
      pieces.add(ofAnotherType(field));
    }
    return pieces;
  }

  private List<byte[]> nested(int number, byte[] value, FieldDescriptor known) throws IOException {
    var inner = scramble(value, known.getMessageType());
    boolean mergeable = !known.isRepeated() && known.getMessageType() != AnyValue.getDescriptor();
    if (!mergeable || known.getContainingType() == AnyValue.getDescriptor()) {
      return List.of(encoded(number, WireFormat.WIRETYPE_LENGTH_DELIMITED, inner));
    }
    int cut = cutBetweenFields(inner);
    return List.of(
        encoded(number, WireFormat.WIRETYPE_LENGTH_DELIMITED, Arrays.copyOf(inner, cut)),
        encoded(
            number,
            WireFormat.WIRETYPE_LENGTH_DELIMITED,
            Arrays.copyOfRange(inner, cut, inner.length)));
  }

  private int cutBetweenFields(byte[] message) throws IOException {
    var cuts = new ArrayList<>(List.of(0));
    var in = CodedInputStream.newInstance(message);
    for (int tag = in.readTag(); tag != 0; tag = in.readTag()) {
      in.skipField(tag);
      cuts.add(in.getTotalBytesRead());
    }
    return cuts.get(random.nextInt(cuts.size()));
  }

  /** Returns the same field with another value; the later field must win. */
  private byte[] scalarBefore(Field field, byte[] value) {
    var other =
        switch (field.wireType()) {
          case WireFormat.WIRETYPE_VARINT -> new byte[] {(byte) random.nextInt(1, 25)};
          case WireFormat.WIRETYPE_LENGTH_DELIMITED ->
              value.length == 16 || value.length == 8 ? value.clone() : new byte[] {'?', '?', '?'};
          default -> new byte[value.length];
        };
    return encoded(field.number(), field.wireType(), other);
  }

  private byte[] ofAnotherType(Field field) {
    return field.wireType() == WireFormat.WIRETYPE_VARINT
        ? encoded(field.number(), WireFormat.WIRETYPE_FIXED32, new byte[] {1, 2, 3, 4})
        : encoded(field.number(), WireFormat.WIRETYPE_VARINT, new byte[] {7});
  }

  private byte[] unknown() {
    int number = random.nextInt(2) == 0 ? random.nextInt(900, 999) : (1 << 29) - 1;
    return switch (random.nextInt(4)) {
      case 0 -> encoded(number, WireFormat.WIRETYPE_VARINT, new byte[] {(byte) 0x96, 1});
      case 1 -> encoded(number, WireFormat.WIRETYPE_FIXED64, new byte[8]);
      case 2 -> encoded(number, WireFormat.WIRETYPE_FIXED32, new byte[] {-1, -1, -1, -1});
      default ->
          encoded(number, WireFormat.WIRETYPE_LENGTH_DELIMITED, new byte[random.nextInt(200)]);
    };
  }

  private byte[] encoded(int number, int wireType, byte[] value) {
    var out = new ByteArrayOutputStream();
    varint(Integer.toUnsignedLong(number << 3 | wireType), out);
    if (wireType == WireFormat.WIRETYPE_LENGTH_DELIMITED) {
      varint(value.length, out);
    }
    out.writeBytes(value);
    return out.toByteArray();
  }

  private void varint(long value, ByteArrayOutputStream out) {
    long rest = value;
    for (; (rest & ~0x7FL) != 0; rest >>>= 7) {
      out.write((int) rest | 0x80);
    }
    if (random.nextInt(20) == 0) {
      out.write((int) rest | 0x80);
      out.write(0x80);
      rest = 0;
    }
    out.write((int) rest);
  }

  private static byte[] joined(List<byte[]> pieces) {
    var out = new ByteArrayOutputStream();
    pieces.forEach(out::writeBytes);
    return out.toByteArray();
  }
}
