package dev.sluice.api.compression;

import java.io.IOException;
import org.xerial.snappy.Snappy;

/**
 * Decompresses a Snappy block: a length, followed by literals and copies of earlier bytes. A block
 * is decompressed in one call into an array of the declared length, so the declared length is
 * checked for plausibility before the allocation.
 */
public final class SnappyBlock {
  /** The maximum expansion of an element: three bytes copy 64. */
  private static final int MAX_EXPANSION = 64 / 3 + 1;

  private SnappyBlock() {}

  /**
   * Returns the declared uncompressed length in bytes.
   *
   * @throws IOException if {@code count} bytes cannot expand to that length
   */
  public static int uncompressedLength(byte[] in, int offset, int count) throws IOException {
    int length = Snappy.uncompressedLength(in, offset, count);
    if (length < 0 || length > (long) count * MAX_EXPANSION) {
      throw new IOException("block declares more bytes than it can contain");
    }
    return length;
  }

  /**
   * Decompresses the block.
   *
   * @param into an array of at least {@link #uncompressedLength} bytes
   * @throws IOException if {@code into} is too small or the block is corrupt
   */
  public static void uncompress(byte[] in, int offset, int count, byte[] into) throws IOException {
    int length = Snappy.uncompressedLength(in, offset, count);
    // checked here because the native code does not check the capacity
    if (length > into.length || Snappy.uncompress(in, offset, count, into, 0) != length) {
      throw new IOException("block does not contain the declared number of bytes");
    }
  }
}
