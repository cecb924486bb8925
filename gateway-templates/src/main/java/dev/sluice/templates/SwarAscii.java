package dev.sluice.templates;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * Classifies eight bytes of a {@code long} in parallel (SWAR); the first byte is the lowest. The
 * methods are branch-free, because the end of a word is unpredictable for a processor.
 *
 * <p>A byte {@code b} below 128 is in the range {@code [low, high]} if {@code b + (128 - low)} has
 * the high bit set and {@code b + (128 - high - 1)} does not. The sums never carry into the next
 * byte.
 */
final class SwarAscii {
  /** Access to eight bytes of an array; the first is the lowest. */
  static final VarHandle LONG =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

  private static final long ONES = 0x0101010101010101L;
  private static final long HIGH_BITS = 0x8080808080808080L;

  private SwarAscii() {}

  /** Returns the number of leading ASCII letters, from 0 to 8. */
  static int leadingLetters(long bytes) {
    return leadingCount(inRange(bytes & ~HIGH_BITS | 0x20 * ONES, 'a', 'z') & ~bytes);
  }

  /**
   * Returns the number of leading bytes, from 0 to 8, that may follow a digit in a token: ASCII
   * letters and digits, hyphens and full stops.
   */
  static int leadingNumberChars(long bytes) {
    long low = bytes & ~HIGH_BITS;
    long kinds =
        inRange(low | 0x20 * ONES, 'a', 'z') | inRange(low, '0', '9') | inRange(low, '-', '.');
    return leadingCount(kinds & ~bytes);
  }

  /**
   * Returns the first {@code count} bytes; the others are zero.
   *
   * @param count from 1 to 8
   */
  static long firstBytes(long bytes, int count) {
    return bytes & -1L >>> Long.SIZE - count * Byte.SIZE;
  }

  /** Returns a mask: the high bit of each byte is set if the byte is in the range. */
  private static long inRange(long low, char from, char to) {
    return (low + (0x80 - from) * ONES) & ~(low + (0x80 - to - 1) * ONES);
  }

  private static int leadingCount(long upperBits) {
    return Long.numberOfTrailingZeros(~upperBits & HIGH_BITS) >>> 3;
  }
}
