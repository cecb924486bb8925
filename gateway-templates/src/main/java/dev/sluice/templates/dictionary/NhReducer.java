package dev.sluice.templates.dictionary;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * A reducer that compresses a long text with a keyed hash before the text is hashed twice (ADR
 * 0027). Each block of 4 KiB becomes 16 bytes; the length of the text follows the last block.
 *
 * <p>The 16 bytes are NH, the sum of {@code (m[i] + k[i]) * (m[i+1] + k[i+1])} over the numbers
 * {@code m} of the block and the secret random numbers {@code k} (Black, Halevi, Krawczyk, Krovetz,
 * Rogaway: UMAC, 1999), with one difference: NH adds the products modulo 2^128. The reducer adds
 * their upper and their lower halves separately, each modulo 2^64, which needs no carry.
 *
 * <p>Two different blocks have the same result with a probability of at most 2^-63, even when an
 * attacker chooses them, as long as {@code k} is secret; that is twice the probability of NH.
 * Proof: let the blocks differ in {@code m[i]}, and hold all of {@code k} except {@code k[i+1]}
 * fixed. The sums are equal only if the halves of that one product differ by two given numbers. The
 * whole products then differ by one of two values, with or without borrow. For each of the two
 * values at most one {@code k[i+1]} satisfies the equation (the lemma for NH).
 *
 * <p>The last step of a block whose length is not a multiple of 32 bytes reads the last 32 bytes of
 * the text, some of which an earlier step has already read.
 *
 * <p>Confined to one thread, because of the output array.
 */
final class NhReducer {
  static final int BLOCK_LONGS = 512;

  private static final int BLOCK_BYTES = BLOCK_LONGS * Long.BYTES;
  private static final int REDUCED_BYTES = 2 * Long.BYTES;

  /** The bytes per step: two products, which the processor computes in parallel. */
  private static final int STEP_BYTES = 4 * Long.BYTES;

  private static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private final long[] key;
  private byte[] out = new byte[Long.BYTES + 8 * REDUCED_BYTES];

  /**
   * @param key the secret key, {@link #BLOCK_LONGS} random numbers
   */
  NhReducer(long[] key) {
    this.key = key;
  }

  /** Returns the output of {@link #reduce}; a longer text may replace the array. */
  byte[] bytes() {
    return out;
  }

  /**
   * Reduces a text into {@link #bytes}.
   *
   * @param length the length of the text, at least {@value #STEP_BYTES}
   * @return the length of the output
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
    // a copy of the loop body, so that the loop needs no check of the index
    if (aligned < length) {
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
