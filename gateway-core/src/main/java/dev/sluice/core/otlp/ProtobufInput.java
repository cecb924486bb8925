package dev.sluice.core.otlp;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * A cursor over protobuf's wire format. Every read checks its bounds against {@code end}, the end
 * of the message it is in, so that no nested length can reach outside its parent.
 *
 * <p>Public so that an entrance whose messages are protobuf reads them with the walker's own eyes:
 * what passes there is never malformed here. For one thread at a time.
 */
public final class ProtobufInput {
  public static final int VARINT = 0;
  public static final int FIXED64 = 1;
  public static final int BYTES = 2;
  public static final int FIXED32 = 5;

  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

  public byte[] bytes = {};
  public int position;

  /** A field's number and wire type. */
  public int tag(int end) throws MalformedOtlp {
    int start = position;
    long tag = varint(end);
    if (tag >>> 3 == 0 || tag >>> 32 != 0) {
      throw new MalformedOtlp("invalid field number", start);
    }
    return (int) tag;
  }

  public long varint(int end) throws MalformedOtlp {
    int p = position;
    if (p < end) {
      byte first = bytes[p];
      if (first >= 0) {
        position = p + 1;
        return first;
      }
    }
    return longVarint(end);
  }

  private long longVarint(int end) throws MalformedOtlp {
    byte[] b = bytes;
    int p = position;
    long value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (p >= end) {
        throw new MalformedOtlp("truncated varint", position);
      }
      byte next = b[p++];
      value |= (long) (next & 0x7F) << shift;
      if (next >= 0) {
        position = p;
        return value;
      }
    }
    throw new MalformedOtlp("varint of more than ten bytes", position);
  }

  /** Reads a length and returns where the content it announces ends; it begins at position. */
  public int contentEnd(int end) throws MalformedOtlp {
    int start = position;
    long length = varint(end);
    if (length < 0 || length > end - position) {
      throw new MalformedOtlp("length beyond the end of its message", start);
    }
    return position + (int) length;
  }

  public long fixed64(int end) throws MalformedOtlp {
    need(8, end);
    long value = (long) LONG.get(bytes, position);
    position += 8;
    return value;
  }

  public int fixed32(int end) throws MalformedOtlp {
    need(4, end);
    int value = (int) INT.get(bytes, position);
    position += 4;
    return value;
  }

  /** Passes over the value of a field that is unknown, or known with another wire type. */
  public void skip(int tag, int end) throws MalformedOtlp {
    switch (tag & 7) {
      case VARINT -> varint(end);
      case FIXED64 -> {
        need(8, end);
        position += 8;
      }
      case BYTES -> position = contentEnd(end);
      case FIXED32 -> {
        need(4, end);
        position += 4;
      }
      default -> throw new MalformedOtlp("unsupported wire type " + (tag & 7), position);
    }
  }

  private void need(int count, int end) throws MalformedOtlp {
    if (count > end - position) {
      throw new MalformedOtlp("truncated field", position);
    }
  }
}
