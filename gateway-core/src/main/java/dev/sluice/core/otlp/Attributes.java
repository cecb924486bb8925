package dev.sluice.core.otlp;

import java.util.Arrays;

/**
 * The attributes of one record, resource or scope: keys and values as ranges of the walked bytes.
 * The object is reused for each record, resource or scope.
 *
 * <p>A key that was sent twice appears once, with the value sent last, as in the Collector's maps.
 */
public final class Attributes {
  private int[] keyOffsets = new int[16];
  private int[] keyLengths = new int[16];
  private AnyValue[] values = new AnyValue[16];
  private int size;
  private long keyFilter;

  Attributes() {
    fill(0);
  }

  private void fill(int from) {
    for (int i = from; i < values.length; i++) {
      values[i] = new AnyValue();
    }
  }

  void clear() {
    size = 0;
    keyFilter = 0;
  }

  /** Returns the value to fill for this key: the existing one of an equal key, or a new one. */
  AnyValue put(byte[] bytes, int offset, int length) {
    long bit =
        length == 0 ? 1L : 1L << (bytes[offset] * 31 + bytes[offset + length - 1] * 7 + length);
    if ((keyFilter & bit) != 0) {
      for (int i = 0; i < size; i++) {
        if (keyLengths[i] == length
            && Arrays.equals(
                bytes, keyOffsets[i], keyOffsets[i] + length, bytes, offset, offset + length)) {
          return values[i];
        }
      }
    }
    keyFilter |= bit;
    if (size == values.length) {
      keyOffsets = Arrays.copyOf(keyOffsets, size * 2);
      keyLengths = Arrays.copyOf(keyLengths, size * 2);
      values = Arrays.copyOf(values, size * 2);
      fill(size);
    }
    keyOffsets[size] = offset;
    keyLengths[size] = length;
    return values[size++];
  }

  public int size() {
    return size;
  }

  public int keyOffset(int i) {
    return keyOffsets[i];
  }

  public int keyLength(int i) {
    return keyLengths[i];
  }

  public AnyValue value(int i) {
    return values[i];
  }
}
