package dev.sluice.api.compression;

import java.io.IOException;
import org.xerial.snappy.Snappy;

/**
 * One block of Snappy: its length, then literals and copies of what came before. It unfolds all at
 * once, into an array that is made by what it says of itself; so that is doubted first.
 */
public final class SnappyBlock {
  /** No element unfolds to more: three bytes copy 64. */
  private static final int MAX_EXPANSION = 64 / 3 + 1;

  private SnappyBlock() {}

  /**
   * How many bytes it unfolds to.
   *
   * @throws IOException when so few bytes cannot
   */
  public static int uncompressedLength(byte[] in, int offset, int count) throws IOException {
    int length = Snappy.uncompressedLength(in, offset, count);
    if (length < 0 || length > (long) count * MAX_EXPANSION) {
      throw new IOException("announces more than it can hold");
    }
    return length;
  }

  /**
   * Unfolds it.
   *
   * @param into has room for {@link #uncompressedLength} bytes, which native code takes on trust
   */
  public static void uncompress(byte[] in, int offset, int count, byte[] into) throws IOException {
    int length = Snappy.uncompressedLength(in, offset, count);
    if (length > into.length || Snappy.uncompress(in, offset, count, into, 0) != length) {
      throw new IOException("does not hold what it announces");
    }
  }
}
