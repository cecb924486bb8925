package dev.sluice.core.otlp;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * A growable byte buffer, little-endian, for one thread at a time. It is reusable: {@link #clear}
 * keeps the array, so that a buffer that has grown allocates nothing.
 */
public final class ByteOutput {
  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle INT =
      MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle SHORT =
      MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.LITTLE_ENDIAN);

  private byte[] bytes;
  private int size;

  /**
   * @param capacity initial capacity in bytes; at least 16 are allocated
   */
  public ByteOutput(int capacity) {
    bytes = new byte[Math.max(16, capacity)];
  }

  public int size() {
    return size;
  }

  public void clear() {
    size = 0;
  }

  /**
   * Discards the bytes after {@code size}.
   *
   * @throws IndexOutOfBoundsException if {@code size} is negative or above the current size
   */
  public void truncate(int size) {
    if (size < 0 || size > this.size) {
      throw new IndexOutOfBoundsException(size);
    }
    this.size = size;
  }

  /**
   * Returns the backing array, whose first {@link #size} bytes are written. A later write may
   * replace the array.
   */
  public byte[] array() {
    return bytes;
  }

  public byte[] toByteArray() {
    return Arrays.copyOf(bytes, size);
  }

  /**
   * Ensures capacity for {@code extra} more bytes.
   *
   * @throws OutOfMemoryError if the size would exceed the maximum array size, about 2 GiB
   */
  public void ensureCapacity(int extra) {
    if (bytes.length - size < extra) {
      long newCapacity = Math.max((long) size + extra, bytes.length * 2L);
      if ((long) size + extra > Integer.MAX_VALUE - 8) {
        throw new OutOfMemoryError("more than 2 GiB in one output");
      }
      bytes = Arrays.copyOf(bytes, (int) Math.min(newCapacity, Integer.MAX_VALUE - 8));
    }
  }

  public void writeByte(int value) {
    ensureCapacity(1);
    bytes[size++] = (byte) value;
  }

  public void writeShort(int value) {
    ensureCapacity(2);
    SHORT.set(bytes, size, (short) value);
    size += 2;
  }

  public void writeInt(int value) {
    ensureCapacity(4);
    INT.set(bytes, size, value);
    size += 4;
  }

  public void writeLong(long value) {
    ensureCapacity(8);
    LONG.set(bytes, size, value);
    size += 8;
  }

  /** Writes the most significant byte first, so that the bytes sort as the numbers do. */
  public void writeLongBigEndian(long value) {
    writeLong(Long.reverseBytes(value));
  }

  public void write(byte[] source, int offset, int length) {
    ensureCapacity(length);
    System.arraycopy(source, offset, bytes, size, length);
    size += length;
  }

  public void write(byte[] source) {
    write(source, 0, source.length);
  }

  /** Writes an unsigned LEB128 number: the varint of protobuf and of ClickHouse. */
  public void writeVarint(long value) {
    ensureCapacity(10);
    byte[] b = bytes;
    int p = size;
    while ((value & ~0x7FL) != 0) {
      b[p++] = (byte) (value | 0x80);
      value >>>= 7;
    }
    b[p++] = (byte) value;
    size = p;
  }

  /**
   * Appends text as UTF-8. A lone surrogate, which has no UTF-8 form, is written as the three bytes
   * of its generalised encoding: deliberately invalid, so that {@link OtlpWalker} rejects the
   * record.
   */
  public void writeUtf8(CharSequence text) {
    int length = text.length();
    ensureCapacity(length);
    byte[] b = bytes;
    int p = size;
    for (int i = 0; i < length; i++) {
      if (b.length - p < 4) {
        size = p;
        ensureCapacity(length - i + 4);
        b = bytes;
      }
      char c = text.charAt(i);
      if (c < 0x80) {
        b[p++] = (byte) c;
      } else if (c < 0x800) {
        b[p++] = (byte) (0xC0 | c >> 6);
        b[p++] = (byte) (0x80 | c & 0x3F);
      } else if (Character.isHighSurrogate(c)
          && i + 1 < length
          && Character.isLowSurrogate(text.charAt(i + 1))) {
        int point = Character.toCodePoint(c, text.charAt(++i));
        b[p++] = (byte) (0xF0 | point >> 18);
        b[p++] = (byte) (0x80 | point >> 12 & 0x3F);
        b[p++] = (byte) (0x80 | point >> 6 & 0x3F);
        b[p++] = (byte) (0x80 | point & 0x3F);
      } else {
        b[p++] = (byte) (0xE0 | c >> 12);
        b[p++] = (byte) (0x80 | c >> 6 & 0x3F);
        b[p++] = (byte) (0x80 | c & 0x3F);
      }
    }
    size = p;
  }

  /** Moves the bytes from {@code from} to the end by {@code by} bytes to the right. */
  void shift(int from, int by) {
    ensureCapacity(by);
    System.arraycopy(bytes, from, bytes, from + by, size - from);
    size += by;
  }

  void set(int index, int value) {
    bytes[index] = (byte) value;
  }
}
