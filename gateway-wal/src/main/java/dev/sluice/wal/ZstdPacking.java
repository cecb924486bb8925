package dev.sluice.wal;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdCompressCtx;
import com.github.luben.zstd.ZstdDecompressCtx;
import com.github.luben.zstd.ZstdException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * A zstd frame (RFC 8878) that says its content's size and ends in a checksum of it.
 *
 * <pre>
 * 0  magic       4  little-endian, as all numbers here
 * 4  descriptor  1  bits 7-6 how long the size is; 5 no window is given; 4, 3 zero; 2 checksum;
 *                   1-0 zero: no dictionary
 *    window      0 or 1
 *    size        1, 2, 4 or 8
 *    blocks         each: 3 bytes with bit 0 last, bits 2-1 type, the rest a size
 *    checksum    4
 * </pre>
 */
final class ZstdPacking implements Packing {
  static final int MAGIC = 0xFD2FB528;

  /**
   * One of the fast ones: lines repeat so much that most of what can be saved is saved by any
   * level, and what is written is soon deleted. {@code FrameCodecBenchmark} has the figures.
   */
  private static final int LEVEL = -5;

  private static final int FIXED_BITS = 0b0001_1111;
  private static final int CHECKSUM = 0b0000_0100;
  private static final int NO_WINDOW = 0b0010_0000;
  private static final int SIZE_AT = 5;
  private static final int MAX_HEADER = 14;
  private static final int BLOCK_HEADER = 3;
  private static final int CHECKSUM_BYTES = 4;
  private static final int MOST_IN_BLOCK = 128 << 10;
  private static final int REPEATED_BYTE = 1;
  private static final int RESERVED = 3;

  private final ZstdCompressCtx compressor =
      new ZstdCompressCtx().setLevel(LEVEL).setChecksum(true).setContentSize(true);
  private final ZstdDecompressCtx decompressor = new ZstdDecompressCtx();
  private byte[] room = {};

  @Override
  public byte[] pack(byte[] payload, int length) {
    int bound = Math.toIntExact(Zstd.compressBound(length));
    var into = room.length < bound ? new byte[bound] : room;
    if (into.length <= Workbench.KEPT_BYTES) {
      room = into;
    }
    int packed = compressor.compressByteArray(into, 0, into.length, payload, 0, length);
    return Arrays.copyOf(into, packed);
  }

  @Override
  public byte[] unpack(byte[] frame) throws UnreadableFrame {
    var buffer = ByteBuffer.wrap(frame);
    int blocks = blocks(buffer);
    if (blocks < 0 || buffer.hasRemaining()) {
      throw UnreadableFrame.corrupt("not one whole zstd frame");
    }
    long size = Zstd.getFrameContentSize(frame, 0, frame.length);
    if (size < 0 || size > Math.min((long) blocks * MOST_IN_BLOCK, MAX_PAYLOAD_BYTES)) {
      throw UnreadableFrame.corrupt(
          "a zstd frame of %d blocks that says %d bytes".formatted(blocks, size));
    }
    var payload = new byte[(int) size];
    try {
      int unpacked =
          decompressor.decompressByteArray(payload, 0, payload.length, frame, 0, frame.length);
      if (unpacked != size) {
        throw UnreadableFrame.corrupt("%d bytes, should be %d".formatted(unpacked, size));
      }
    } catch (ZstdException e) {
      throw UnreadableFrame.corrupt("zstd: " + e.getMessage());
    }
    return payload;
  }

  @Override
  public int lengthOf(ByteBuffer buffer) throws UnreadableFrame {
    var frame = buffer.duplicate();
    return blocks(frame) < 0 ? -1 : frame.position() - buffer.position();
  }

  /**
   * Passes over a frame and counts its blocks.
   *
   * @return -1 when it does not end within the buffer
   */
  private static int blocks(ByteBuffer buffer) throws UnreadableFrame {
    int start = buffer.position();
    buffer.order(ByteOrder.LITTLE_ENDIAN);
    if (buffer.remaining() < MAX_HEADER) { // no frame with a block and a checksum is shorter
      return -1;
    }
    int descriptor = buffer.get(start + 4);
    if (buffer.getInt(start) != MAGIC || (descriptor & FIXED_BITS) != CHECKSUM) {
      throw UnreadableFrame.corrupt("no zstd frame of ours");
    }
    boolean window = (descriptor & NO_WINDOW) == 0;
    int sizeBytes = 1 << (descriptor >>> 6 & 3);
    if (window && sizeBytes == 1) {
      throw UnreadableFrame.corrupt("a zstd frame that does not say its size");
    }
    buffer.position(start + SIZE_AT + (window ? 1 : 0) + sizeBytes);
    for (int blocks = 1; ; blocks++) {
      if (buffer.remaining() < BLOCK_HEADER) {
        return -1;
      }
      int header = buffer.get() & 0xFF | (buffer.getShort() & 0xFFFF) << 8;
      int type = header >>> 1 & 3;
      int length = type == REPEATED_BYTE ? 1 : header >>> 3;
      boolean last = (header & 1) != 0;
      if (type == RESERVED || length > MOST_IN_BLOCK) {
        throw UnreadableFrame.corrupt("no zstd block");
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
