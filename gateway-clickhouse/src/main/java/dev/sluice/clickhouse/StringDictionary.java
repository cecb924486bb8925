package dev.sluice.clickhouse;

import dev.sluice.core.otlp.ByteOutput;
import dev.sluice.core.otlp.KeyedHash;
import java.util.Arrays;

/**
 * Distinct strings, numbered in the order of their first appearance. The empty string has number 0,
 * as the LowCardinality format requires.
 *
 * <p>An open-addressing hash table over the encoded strings, so that a lookup dereferences no
 * object.
 */
final class StringDictionary {
  /**
   * The strings in the format of ClickHouse, one after the other: the length as varint, then the
   * bytes.
   */
  private final ByteOutput encoded = new ByteOutput(1 << 10);

  private int[] slots = new int[64]; // number + 1; 0 is free
  private long[] hashes = new long[32];
  private int[] offsets = new int[32];
  private int[] lengths = new int[32];
  private int size;

  StringDictionary() {
    clear();
  }

  void clear() {
    if (size > 1) {
      Arrays.fill(slots, 0);
    }
    encoded.clear();
    encoded.writeByte(0);
    size = 1; // the empty string, which is never looked up
  }

  int size() {
    return size;
  }

  ByteOutput encoded() {
    return encoded;
  }

  long capacity() {
    return encoded.array().length + 4L * slots.length + 16L * hashes.length;
  }

  /**
   * Returns the number of the string {@code bytes[offset, offset + length)}; adds the string at its
   * first appearance.
   */
  int intern(byte[] bytes, int offset, int length) {
    if (length == 0) {
      return 0;
    }
    long hash = KeyedHash.of(bytes, offset, length);
    int mask = slots.length - 1;
    int slot = (int) hash & mask;
    for (int entry; (entry = slots[slot]) != 0; slot = (slot + 1) & mask) {
      int number = entry - 1;
      if (hashes[number] == hash
          && lengths[number] == length
          && Arrays.equals(
              encoded.array(),
              offsets[number],
              offsets[number] + length,
              bytes,
              offset,
              offset + length)) {
        return number;
      }
    }
    return add(bytes, offset, length, hash, slot);
  }

  private int add(byte[] bytes, int offset, int length, long hash, int slot) {
    if (size == hashes.length) {
      hashes = Arrays.copyOf(hashes, size * 2);
      offsets = Arrays.copyOf(offsets, size * 2);
      lengths = Arrays.copyOf(lengths, size * 2);
    }
    int number = size++;
    encoded.writeVarint(length);
    hashes[number] = hash;
    offsets[number] = encoded.size();
    lengths[number] = length;
    encoded.write(bytes, offset, length);
    slots[slot] = number + 1;
    if (size * 2 > slots.length) {
      grow();
    }
    return number;
  }

  private void grow() {
    var wider = new int[slots.length * 2];
    int mask = wider.length - 1;
    for (int number = 1; number < size; number++) {
      int slot = (int) hashes[number] & mask;
      while (wider[slot] != 0) {
        slot = (slot + 1) & mask;
      }
      wider[slot] = number + 1;
    }
    slots = wider;
  }
}
