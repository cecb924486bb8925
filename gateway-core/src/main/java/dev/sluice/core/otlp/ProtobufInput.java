package dev.sluice.core.otlp;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * A cursor over the protobuf wire format. Every read checks its bounds against {@code end}, the end
 * of the enclosing message, so that no nested length can reach outside its parent.
 *
 * <p>The class is public so that the decoders of other protobuf messages use the same parsing rules
 * as {@link OtlpWalker}: a message that such a decoder accepts is never malformed for the walker.
 * For one thread at a time.
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

  /** Reads a tag: the field number, shifted left by three bits, and the wire type. */
  public int readTag(int end) throws MalformedOtlpException {
    int start = position;
    long tag = readVarint(end);
    if (tag >>> 3 == 0 || tag >>> 32 != 0) {
      throw new MalformedOtlpException("invalid field number", start);
    }
    return (int) tag;
  }

  public long readVarint(int end) throws MalformedOtlpException {
    int p = position;
    if (p < end) {
      byte first = bytes[p];
      if (first >= 0) {
        position = p + 1;
        return first;
      }
    }
    return readLongVarint(end);
  }

  private long readLongVarint(int end) throws MalformedOtlpException {
    byte[] b = bytes;
    int p = position;
    long value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (p >= end) {
        throw new MalformedOtlpException("truncated varint", position);
      }
      byte next = b[p++];
      value |= (long) (next & 0x7F) << shift;
      if (next >= 0) {
        position = p;
        return value;
      }
    }
    throw new MalformedOtlpException("varint of more than ten bytes", position);
  }

  /**
   * Reads a length and returns the end offset of the content, which begins at {@link #position}.
   */
  public int readContentEnd(int end) throws MalformedOtlpException {
    int start = position;
    long length = readVarint(end);
    if (length < 0 || length > end - position) {
      throw new MalformedOtlpException("length beyond the end of its message", start);
    }
    return position + (int) length;
  }

  public long readFixed64(int end) throws MalformedOtlpException {
    requireBytes(8, end);
    long value = (long) LONG.get(bytes, position);
    position += 8;
    return value;
  }

  public int readFixed32(int end) throws MalformedOtlpException {
    requireBytes(4, end);
    int value = (int) INT.get(bytes, position);
    position += 4;
    return value;
  }

  /** Skips the value of a field that is unknown or has an unexpected wire type. */
  public void skip(int tag, int end) throws MalformedOtlpException {
    switch (tag & 7) {
      case VARINT -> readVarint(end);
      case FIXED64 -> {
        requireBytes(8, end);
        position += 8;
      }
      case BYTES -> position = readContentEnd(end);
      case FIXED32 -> {
        requireBytes(4, end);
        position += 4;
      }
      default -> throw new MalformedOtlpException("unsupported wire type " + (tag & 7), position);
    }
  }

  private void requireBytes(int count, int end) throws MalformedOtlpException {
    if (count > end - position) {
      throw new MalformedOtlpException("truncated field", position);
    }
  }
}
