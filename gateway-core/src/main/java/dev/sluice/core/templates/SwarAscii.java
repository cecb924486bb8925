package dev.sluice.core.templates;

/**
 * Asks of eight bytes at once, the first of them the lowest, how many of the first are of a kind;
 * without a branch, since where a word ends is what a processor cannot foresee.
 *
 * <p>A byte below 128 is within bounds if adding what is missing from its lower bound to 128 sets
 * the upper bit and adding what is missing from above its upper bound does not; the sums never
 * carry into the next byte.
 */
final class SwarAscii {
  private static final long ONES = 0x0101010101010101L;
  private static final long HIGH_BITS = 0x8080808080808080L;

  private SwarAscii() {}

  /** Letters of ASCII, from 0 to 8. */
  static int leadingLetters(long bytes) {
    return leadingCount(inRange(bytes & ~HIGH_BITS | 0x20 * ONES, 'a', 'z') & ~bytes);
  }

  /** What may follow a digit: letters and digits of ASCII, hyphens and full stops, from 0 to 8. */
  static int leadingNumberChars(long bytes) {
    long low = bytes & ~HIGH_BITS;
    long kinds =
        inRange(low | 0x20 * ONES, 'a', 'z') | inRange(low, '0', '9') | inRange(low, '-', '.');
    return leadingCount(kinds & ~bytes);
  }

  /** The first bytes, from 1 to 8 of them, the others zero. */
  static long firstBytes(long bytes, int count) {
    return bytes & -1L >>> Long.SIZE - count * Byte.SIZE;
  }

  /** The upper bit of each byte says whether it is within the bounds. */
  private static long inRange(long low, char from, char to) {
    return (low + (0x80 - from) * ONES) & ~(low + (0x80 - to - 1) * ONES);
  }

  private static int leadingCount(long upperBits) {
    return Long.numberOfTrailingZeros(~upperBits & HIGH_BITS) >>> 3;
  }
}
