package dev.sluice.wal;

import java.nio.ByteBuffer;

/**
 * One of the two forms of a frame. Frames are read only in the very shape in which they are
 * written: what another shape would mean is not asked.
 *
 * <p>For one thread at a time; reused. Holds native memory until it is closed.
 */
sealed interface FrameCompressor extends AutoCloseable
    permits ZstdFrameCompressor, GzipFrameCompressor {

  /** No payload is larger: a batch at all limits, each byte of it an escape, with its heads. */
  int MAX_PAYLOAD_BYTES = 7 << 28;

  static FrameCompressor of(Compression compression) {
    return switch (compression) {
      case ZSTD -> new ZstdFrameCompressor();
      case GZIP -> new GzipFrameCompressor();
    };
  }

  /** The payload that is the first {@code length} bytes, as a frame. */
  byte[] compress(byte[] payload, int length);

  /**
   * The reverse. Asks for no more memory than a frame of that length can fill.
   *
   * @throws UnreadableFrameException when it is not exactly one intact frame
   */
  byte[] decompress(byte[] frame) throws UnreadableFrameException;

  /** See {@link FrameCodec#lengthOf}. */
  int lengthOf(ByteBuffer buffer) throws UnreadableFrameException;

  @Override
  void close();
}
