package dev.sluice.wal;

import java.nio.ByteBuffer;

/**
 * Compresses and decompresses frames in one of the two formats. Accepts only frames with the exact
 * format features that it writes.
 *
 * <p>For use by one thread at a time, for many frames. Holds native memory until it is closed.
 */
sealed interface FrameCompressor extends AutoCloseable
    permits ZstdFrameCompressor, GzipFrameCompressor {

  /**
   * Maximum size of a payload in bytes: a batch at all limits, with every byte escaped, and the
   * headers of its lines.
   */
  int MAX_PAYLOAD_BYTES = 7 << 28;

  static FrameCompressor of(Compression compression) {
    return switch (compression) {
      case ZSTD -> new ZstdFrameCompressor();
      case GZIP -> new GzipFrameCompressor();
    };
  }

  /** Returns the first {@code length} bytes of an array as a frame. */
  byte[] compress(byte[] payload, int length);

  /**
   * Decompresses a frame. Allocates no more memory than a frame of that length can fill.
   *
   * @throws UnreadableFrameException when the bytes are not exactly one intact frame
   */
  byte[] decompress(byte[] frame) throws UnreadableFrameException;

  /** See {@link FrameCodec#lengthOf}. */
  int lengthOf(ByteBuffer buffer) throws UnreadableFrameException;

  @Override
  void close();
}
