package dev.sluice.wal;

import java.nio.ByteBuffer;

/**
 * One of the two forms of a frame. Frames are read only in the very shape in which they are
 * written: what another shape would mean is not asked.
 *
 * <p>For one thread at a time; reused. Holds native memory until it is closed.
 */
sealed interface Packing extends AutoCloseable permits ZstdPacking, GzipPacking {

  /** No payload is larger: a batch at all limits, each byte of it an escape, with its heads. */
  int MAX_PAYLOAD_BYTES = 7 << 28;

  static Packing of(Compression compression) {
    return switch (compression) {
      case ZSTD -> new ZstdPacking();
      case GZIP -> new GzipPacking();
    };
  }

  /** The payload that is the first {@code length} bytes, as a frame. */
  byte[] pack(byte[] payload, int length);

  /**
   * The reverse. Asks for no more memory than a frame of that length can fill.
   *
   * @throws UnreadableFrame when it is not exactly one intact frame
   */
  byte[] unpack(byte[] frame) throws UnreadableFrame;

  /** See {@link FrameCodec#lengthOf}. */
  int lengthOf(ByteBuffer buffer) throws UnreadableFrame;

  @Override
  void close();
}
