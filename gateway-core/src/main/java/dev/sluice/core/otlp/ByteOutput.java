package dev.sluice.core.otlp;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * A growing array of bytes, little-endian, owned by one thread at a time and reused: {@link #clear}
 * keeps the array, so that a warm output allocates nothing.
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
   * @param capacity bytes to begin with
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

  /** Forgets what was written after {@code size}. */
  public void truncate(int size) {
    if (size < 0 || size > this.size) {
      throw new IndexOutOfBoundsException(size);
    }
    this.size = size;
  }

  /** The array itself, of which {@link #size} bytes are written; it changes when more is. */
  public byte[] array() {
    return bytes;
  }

  public byte[] toByteArray() {
    return Arrays.copyOf(bytes, size);
  }

  /**
   * Makes room for {@code extra} more bytes.
   *
   * @throws OutOfMemoryError beyond two gibibytes, as any array would
   */
  public void ensureCapacity(int extra) {
    if (bytes.length - size < extra) {
      long wanted = Math.max((long) size + extra, bytes.length * 2L);
      if ((long) size + extra > Integer.MAX_VALUE - 8) {
        throw new OutOfMemoryError("more than 2 GiB in one output");
      }
      bytes = Arrays.copyOf(bytes, (int) Math.min(wanted, Integer.MAX_VALUE - 8));
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

  /** Most significant byte first, so that bytes compare as the numbers do. */
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

  /** Unsigned LEB128: the varint of protobuf and of ClickHouse. */
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
   * Appends text as UTF-8. A lone surrogate, which has no UTF-8, is written in the three bytes it
   * would have: invalid on purpose, so that {@link OtlpWalker} gives its verdict on the record.
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

  /** Moves everything from {@code from} on by {@code by} bytes to the right. */
  void shift(int from, int by) {
    ensureCapacity(by);
    System.arraycopy(bytes, from, bytes, from + by, size - from);
    size += by;
  }

  void set(int index, int value) {
    bytes[index] = (byte) value;
  }
}
