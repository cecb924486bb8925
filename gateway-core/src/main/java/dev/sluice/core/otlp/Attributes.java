package dev.sluice.core.otlp;

import java.util.Arrays;

/**
 * The attributes of one record, resource or scope: keys and values as ranges of the walked bytes.
 * The object is reused for each record, resource or scope.
 *
 * <p>A key that was sent twice appears once, with the value sent last, as in the Collector's maps.
 * A lookup of a key takes constant time: from {@link #INDEXED_SIZE} keys on, a hash table finds it.
 */
public class Attributes {
  /** Number of keys up to which a lookup compares the keys one by one, which is faster for few. */
  private static final int INDEXED_SIZE = 16;

  private int[] keyOffsets = new int[16];
  private int[] keyLengths = new int[16];
  private AnyValue[] values = new AnyValue[16];
  private int size;
  private int sentCount;
  private long keyFilter;

  /**
   * An open-addressing hash table in the first {@code indexMask + 1} slots, at most half full:
   * index of a key + 1; 0 is free.
   */
  private int[] slots = {};

  /** The mask of the slots in use; -1 without a hash table. */
  private int indexMask = -1;

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
    sentCount = 0;
    keyFilter = 0;
    if (indexMask >= 0) {
      Arrays.fill(slots, 0, indexMask + 1, 0);
      indexMask = -1;
    }
  }

  /** Returns the value to fill for this key: the existing one of an equal key, or a new one. */
  AnyValue put(byte[] bytes, int offset, int length) {
    sentCount++;
    if (size >= INDEXED_SIZE) {
      return putIndexed(bytes, offset, length);
    }
    long bit =
        length == 0 ? 1L : 1L << (bytes[offset] * 31 + bytes[offset + length - 1] * 7 + length);
    if ((keyFilter & bit) != 0) {
      for (int i = 0; i < size; i++) {
        if (isKey(i, bytes, offset, length)) {
          return values[i];
        }
      }
    }
    keyFilter |= bit;
    return add(offset, length);
  }

  private AnyValue putIndexed(byte[] bytes, int offset, int length) {
    if (size * 2 > indexMask) {
      buildIndex(bytes);
    }
    int slot = (int) KeyedHash.of(bytes, offset, length) & indexMask;
    for (int entry; (entry = slots[slot]) != 0; slot = (slot + 1) & indexMask) {
      if (isKey(entry - 1, bytes, offset, length)) {
        return values[entry - 1];
      }
    }
    slots[slot] = size + 1;
    return add(offset, length);
  }

  /** Builds a hash table of the keys, with four slots for each. */
  private void buildIndex(byte[] bytes) {
    Arrays.fill(slots, 0, indexMask + 1, 0);
    int slotCount = Integer.highestOneBit(size) * 4;
    if (slots.length < slotCount) {
      slots = new int[slotCount];
    }
    indexMask = slotCount - 1;
    for (int i = 0; i < size; i++) {
      int slot = (int) KeyedHash.of(bytes, keyOffsets[i], keyLengths[i]) & indexMask;
      while (slots[slot] != 0) {
        slot = (slot + 1) & indexMask;
      }
      slots[slot] = i + 1;
    }
  }

  private AnyValue add(int offset, int length) {
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

  /** Whether this key equals a key of the same bytes; a test counts the calls. */
  boolean isKey(int i, byte[] bytes, int offset, int length) {
    return keyLengths[i] == length
        && Arrays.equals(
            bytes, keyOffsets[i], keyOffsets[i] + length, bytes, offset, offset + length);
  }

  /** Returns the number of attributes as they were sent, each repetition of a key counted. */
  int sentCount() {
    return sentCount;
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
