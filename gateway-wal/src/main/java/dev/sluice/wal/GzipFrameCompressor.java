package dev.sluice.wal;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.zip.CRC32;
import java.util.zip.DataFormatException;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

/**
 * Compresses a frame as one gzip member (RFC 1952) without optional fields.
 *
 * <pre>
 * 0  header   10  constant: the magic, deflate, no flags, no time, unknown system
 *    deflate
 *    crc32     4  of the payload, little-endian
 *    size      4  of the payload in bytes, little-endian
 * </pre>
 */
final class GzipFrameCompressor implements FrameCompressor {
  private static final byte[] HEADER = {0x1F, (byte) 0x8B, 8, 0, 0, 0, 0, 0, 0, (byte) 0xFF};
  private static final int TRAILER = 8;

  /** Maximum compression ratio of deflate, which encodes up to 258 bytes in two bits. */
  private static final int MAX_RATIO = 1032;

  private static final int CHUNK = 64 << 10;

  private final Deflater deflater = new Deflater(Deflater.BEST_SPEED, true);
  private final Inflater inflater = new Inflater(true);
  private byte[] scratch = new byte[CHUNK];

  /** Whether the buffer starts with the header, or with a part of it when the buffer is shorter. */
  static boolean matchesHeader(ByteBuffer buffer) {
    int length = Math.min(buffer.remaining(), HEADER.length);
    return buffer.slice(buffer.position(), length).equals(ByteBuffer.wrap(HEADER, 0, length));
  }

  @Override
  public byte[] compress(byte[] payload, int length) {
    deflater.reset();
    deflater.setInput(payload, 0, length);
    deflater.finish();
    var output = scratch;
    System.arraycopy(HEADER, 0, output, 0, HEADER.length);
    int size = HEADER.length;
    while (!deflater.finished()) {
      if (size == output.length) {
        output = Arrays.copyOf(output, size * 2);
      }
      size += deflater.deflate(output, size, output.length - size);
    }
    if (output.length <= PooledCodec.MAX_POOLED_BYTES) {
      scratch = output;
    }
    var crc = new CRC32();
    crc.update(payload, 0, length);
    var frame = Arrays.copyOf(output, size + TRAILER);
    ByteBuffer.wrap(frame)
        .order(ByteOrder.LITTLE_ENDIAN)
        .position(size)
        .putInt((int) crc.getValue())
        .putInt(length);
    return frame;
  }

  @Override
  public byte[] decompress(byte[] frame) throws UnreadableFrameException {
    if (frame.length < HEADER.length + TRAILER || !matchesHeader(ByteBuffer.wrap(frame))) {
      throw UnreadableFrameException.corrupt("not exactly one complete gzip member");
    }
    int compressedLength = frame.length - HEADER.length - TRAILER;
    var trailer = ByteBuffer.wrap(frame).order(ByteOrder.LITTLE_ENDIAN);
    int crc32 = trailer.getInt(frame.length - TRAILER);
    long size = Integer.toUnsignedLong(trailer.getInt(frame.length - TRAILER / 2));
    if (size > Math.min((long) compressedLength * MAX_RATIO, MAX_PAYLOAD_BYTES)) {
      throw UnreadableFrameException.corrupt(
          "gzip member of %d compressed bytes declares a payload of %d bytes"
              .formatted(compressedLength, size));
    }
    var payload = new byte[(int) size];
    if (!inflateFully(frame, compressedLength, payload)) {
      throw UnreadableFrameException.corrupt("gzip member differs from its declared size");
    }
    var crc = new CRC32();
    crc.update(payload);
    if ((int) crc.getValue() != crc32) {
      throw UnreadableFrameException.corrupt("gzip checksum does not match");
    }
    return payload;
  }

  /** Whether all compressed bytes decompress to exactly {@code payload.length} bytes. */
  private boolean inflateFully(byte[] frame, int compressedLength, byte[] payload)
      throws UnreadableFrameException {
    inflater.reset();
    inflater.setInput(frame, HEADER.length, compressedLength);
    int size = 0;
    while (size < payload.length) {
      int more = inflate(payload, size);
      if (more == 0) {
        return false;
      }
      size += more;
    }
    // a further call is needed: the end of the payload is not the end of the compressed bytes
    return inflate(scratch, 0) == 0 && inflater.finished() && inflater.getRemaining() == 0;
  }

  private int inflate(byte[] output, int from) throws UnreadableFrameException {
    try {
      return inflater.inflate(output, from, output.length - from);
    } catch (DataFormatException e) {
      throw UnreadableFrameException.corrupt("gzip: " + e.getMessage());
    }
  }

  @Override
  public int lengthOf(ByteBuffer buffer) throws UnreadableFrameException {
    if (!matchesHeader(buffer)) {
      throw UnreadableFrameException.corrupt("not a gzip member with the header of the WAL");
    }
    if (buffer.remaining() < HEADER.length + TRAILER) {
      return -1;
    }
    inflater.reset();
    inflater.setInput(
        buffer.slice(buffer.position() + HEADER.length, buffer.remaining() - HEADER.length));
    while (inflate(scratch, 0) > 0) {
      // the payload is discarded
    }
    long length = HEADER.length + inflater.getBytesRead() + TRAILER;
    return inflater.finished() && length <= buffer.remaining() ? (int) length : -1;
  }

  @Override
  public void close() {
    deflater.close();
    inflater.close();
  }
}
