package dev.sluice.wal;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdCompressCtx;
import com.github.luben.zstd.ZstdDecompressCtx;
import com.github.luben.zstd.ZstdException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * Compresses a frame as one zstd frame (RFC 8878) with content size and checksum.
 *
 * <pre>
 * 0  magic       4  little-endian, like all numbers here
 * 4  descriptor  1  bits 7-6 length of the size; 5 no window field; 4, 3 zero; 2 checksum;
 *                   1-0 zero: no dictionary
 *    window      0 or 1
 *    size        1, 2, 4 or 8
 *    blocks         each: 3 bytes with bit 0 last, bits 2-1 type, the rest a size
 *    checksum    4
 * </pre>
 */
final class ZstdFrameCompressor implements FrameCompressor {
  static final int MAGIC = 0xFD2FB528;

  /**
   * A fast compression level: the lines are so repetitive that every level removes most of the
   * redundancy, and segments are deleted soon. Measured by {@code FrameCodecBenchmark}; see
   * docs/benchmarks.
   */
  private static final int LEVEL = -5;

  private static final int FIXED_BITS = 0b0001_1111;
  private static final int CHECKSUM = 0b0000_0100;
  private static final int NO_WINDOW = 0b0010_0000;
  private static final int SIZE_OFFSET = 5;
  private static final int MAX_HEADER_BYTES = 14;
  private static final int BLOCK_HEADER_BYTES = 3;
  private static final int CHECKSUM_BYTES = 4;
  private static final int MAX_BLOCK_BYTES = 128 << 10;
  private static final int RLE_BLOCK = 1;
  private static final int RESERVED_BLOCK = 3;

  private final ZstdCompressCtx compressor =
      new ZstdCompressCtx().setLevel(LEVEL).setChecksum(true).setContentSize(true);
  private final ZstdDecompressCtx decompressor = new ZstdDecompressCtx();
  private byte[] scratch = {};

  @Override
  public byte[] compress(byte[] payload, int length) {
    int bound = Math.toIntExact(Zstd.compressBound(length));
    var output = scratch.length < bound ? new byte[bound] : scratch;
    if (output.length <= PooledCodec.MAX_POOLED_BYTES) {
      scratch = output;
    }
    int compressedLength =
        compressor.compressByteArray(output, 0, output.length, payload, 0, length);
    return Arrays.copyOf(output, compressedLength);
  }

  @Override
  public byte[] decompress(byte[] frame) throws UnreadableFrameException {
    var buffer = ByteBuffer.wrap(frame);
    int blocks = skipBlocks(buffer);
    if (blocks < 0 || buffer.hasRemaining()) {
      throw UnreadableFrameException.corrupt("not exactly one complete zstd frame");
    }
    long size = Zstd.getFrameContentSize(frame, 0, frame.length);
    if (size < 0 || size > Math.min((long) blocks * MAX_BLOCK_BYTES, MAX_PAYLOAD_BYTES)) {
      throw UnreadableFrameException.corrupt(
          "zstd frame of %d blocks declares a payload of %d bytes".formatted(blocks, size));
    }
    var payload = new byte[(int) size];
    try {
      int decompressedLength =
          decompressor.decompressByteArray(payload, 0, payload.length, frame, 0, frame.length);
      if (decompressedLength != size) {
        throw UnreadableFrameException.corrupt(
            "zstd frame has %d bytes, expected %d".formatted(decompressedLength, size));
      }
    } catch (ZstdException e) {
      throw UnreadableFrameException.corrupt("zstd: " + e.getMessage());
    }
    return payload;
  }

  @Override
  public int lengthOf(ByteBuffer buffer) throws UnreadableFrameException {
    var frame = buffer.duplicate();
    return skipBlocks(frame) < 0 ? -1 : frame.position() - buffer.position();
  }

  /**
   * Moves the buffer to the end of a frame and counts the blocks of the frame.
   *
   * @return number of blocks; -1 when the frame does not end within the buffer
   */
  private static int skipBlocks(ByteBuffer buffer) throws UnreadableFrameException {
    int start = buffer.position();
    buffer.order(ByteOrder.LITTLE_ENDIAN);
    if (buffer.remaining() < MAX_HEADER_BYTES) { // no frame is shorter
      return -1;
    }
    int descriptor = buffer.get(start + 4);
    if (buffer.getInt(start) != MAGIC || (descriptor & FIXED_BITS) != CHECKSUM) {
      throw UnreadableFrameException.corrupt("not a zstd frame with the header of the WAL");
    }
    boolean window = (descriptor & NO_WINDOW) == 0;
    int sizeBytes = 1 << (descriptor >>> 6 & 3);
    if (window && sizeBytes == 1) {
      throw UnreadableFrameException.corrupt("zstd frame without content size");
    }
    buffer.position(start + SIZE_OFFSET + (window ? 1 : 0) + sizeBytes);
    for (int blocks = 1; ; blocks++) {
      if (buffer.remaining() < BLOCK_HEADER_BYTES) {
        return -1;
      }
      int header = buffer.get() & 0xFF | (buffer.getShort() & 0xFFFF) << 8;
      int type = header >>> 1 & 3;
      int length = type == RLE_BLOCK ? 1 : header >>> 3;
      boolean last = (header & 1) != 0;
      if (type == RESERVED_BLOCK || length > MAX_BLOCK_BYTES) {
        throw UnreadableFrameException.corrupt("invalid zstd block");
      }
      int rest = length + (last ? CHECKSUM_BYTES : 0);
      if (buffer.remaining() < rest) {
        return -1;
      }
      buffer.position(buffer.position() + rest);
      if (last) {
        return blocks;
      }
    }
  }

  @Override
  public void close() {
    compressor.close();
    decompressor.close();
  }
}
