package dev.sluice.core.dictionary;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * Makes a long text some two hundred times shorter, so that two hashes of it cost little more than
 * none: every block of 4 KiB becomes 16 bytes, and the length of the text comes behind them.
 *
 * <p>The 16 bytes are NH, the sum of {@code (m[i] + k[i]) * (m[i+1] + k[i+1])} over the block's
 * numbers {@code m} and secret random ones {@code k} (Black, Halevi, Krawczyk, Krovetz, Rogaway:
 * UMAC, 1999), but for one thing: NH adds the products modulo 2^128, and here their upper and their
 * lower halves are added apart, each modulo 2^64, since carrying took half of the time.
 *
 * <p>Two blocks that differ become the same with a probability of at most 2^-63, whoever made them,
 * as long as {@code k} is not known; that is twice NH's. Where they differ in {@code m[i]}, hold
 * all of {@code k} but {@code k[i+1]} fixed. Then the sums are the same only if the halves of that
 * one product differ by two given numbers, which says of the whole products that they differ by one
 * of two, with the borrow or without; and for each of these at most one {@code k[i+1]} will do (the
 * lemma for NH).
 *
 * <p>A last block whose length is no multiple of 32 bytes ends with the last 32 of the text, some
 * of them for the second time.
 *
 * <p>Confined to a thread, because of the array.
 */
final class NhReducer {
  static final int BLOCK_LONGS = 512;

  private static final int BLOCK_BYTES = BLOCK_LONGS * Long.BYTES;
  private static final int REDUCED_BYTES = 2 * Long.BYTES;

  /** Of one turn: two products, so that the processor can work on both at once. */
  private static final int STEP_BYTES = 4 * Long.BYTES;

  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private final long[] key;
  private byte[] out = new byte[Long.BYTES + 8 * REDUCED_BYTES];

  /**
   * @param key {@link #BLOCK_LONGS} random numbers
   */
  NhReducer(long[] key) {
    this.key = key;
  }

  /** What {@link #reduce} wrote; another one after a longer text. */
  byte[] bytes() {
    return out;
  }

  /**
   * Folds a text and says how many of {@link #bytes} that takes.
   *
   * @param length at least {@value #STEP_BYTES}
   */
  int reduce(byte[] bytes, int offset, int length) {
    int needed = Math.ceilDiv(length, BLOCK_BYTES) * REDUCED_BYTES + Long.BYTES;
    if (out.length < needed) {
      out = new byte[Math.max(needed, 2 * out.length)];
    }
    int outOffset = 0;
    int end = offset + length;
    for (int from = offset; from < end; from += BLOCK_BYTES) {
      reduceBlock(bytes, from, Math.min(BLOCK_BYTES, end - from), outOffset);
      outOffset += REDUCED_BYTES;
    }
    LONG.set(out, outOffset, (long) length);
    return needed;
  }

  private void reduceBlock(byte[] bytes, int offset, int length, int outOffset) {
    var k = key;
    int aligned = length & -STEP_BYTES;
    long low = 0;
    long high = 0;
    for (int i = 0, index = offset; index < offset + aligned; i += 4, index += STEP_BYTES) {
      long a = (long) LONG.get(bytes, index) + k[i];
      long b = (long) LONG.get(bytes, index + 8) + k[i + 1];
      long c = (long) LONG.get(bytes, index + 16) + k[i + 2];
      long d = (long) LONG.get(bytes, index + 24) + k[i + 3];
      low += a * b + c * d;
      high += Math.unsignedMultiplyHigh(a, b) + Math.unsignedMultiplyHigh(c, d);
    }
    if (aligned
        < length) { // written out: bounding the place in the loop costs a quarter of the rate
      int i = aligned / Long.BYTES;
      int index = offset + length - STEP_BYTES;
      long a = (long) LONG.get(bytes, index) + k[i];
      long b = (long) LONG.get(bytes, index + 8) + k[i + 1];
      long c = (long) LONG.get(bytes, index + 16) + k[i + 2];
      long d = (long) LONG.get(bytes, index + 24) + k[i + 3];
      low += a * b + c * d;
      high += Math.unsignedMultiplyHigh(a, b) + Math.unsignedMultiplyHigh(c, d);
    }
    LONG.set(out, outOffset, low);
    LONG.set(out, outOffset + 8, high);
  }
}
