package dev.sluice.api.compression;

import java.io.ByteArrayInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.zip.CRC32C;

/**
 * Decompresses Snappy's framing format: an identifier, followed by chunks of at most 64 KiB with
 * their checksums. The format has no end mark, so a truncation between two chunks is not detected.
 *
 * <p>The library's own reader is not used, because it allocates the size that a chunk's header
 * declares, up to 16 MiB for four bytes, and the size that a block declares, up to 2 GiB.
 */
public final class SnappyFrames extends InputStream {
  private static final byte[] IDENTIFIER = {
    (byte) 0xFF, 6, 0, 0, 's', 'N', 'a', 'P', 'p', 'Y',
  };
  private static final int COMPRESSED = 0x00;
  private static final int UNCOMPRESSED = 0x01;
  private static final int FIRST_SKIPPABLE = 0x80;
  private static final int STREAM_IDENTIFIER = 0xFF;
  private static final int CHECKSUM_BYTES = 4;
  private static final int MAX_CHUNK_BYTES = 1 << 16;

  /** The maximum compressed size of the largest chunk, with its checksum. */
  private static final int MAX_COMPRESSED_CHUNK_BYTES =
      CHECKSUM_BYTES + 32 + MAX_CHUNK_BYTES + MAX_CHUNK_BYTES / 6;

  private final InputStream in;
  private byte[] compressed = new byte[IDENTIFIER.length];
  private byte[] chunk = new byte[0];
  private boolean identified;
  private int position;
  private int end;

  public SnappyFrames(InputStream in) {
    this.in = in;
  }

  /**
   * Whether the bytes are in the framing format. A plain block cannot begin with the identifier,
   * because its first copy would refer to bytes before the start.
   */
  public static boolean startsWithIdentifier(byte[] bytes) {
    return bytes.length >= IDENTIFIER.length
        && Arrays.equals(bytes, 0, IDENTIFIER.length, IDENTIFIER, 0, IDENTIFIER.length);
  }

  public static SnappyFrames of(byte[] bytes) {
    return new SnappyFrames(new ByteArrayInputStream(bytes));
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
  }

  @Override
  public int read(byte[] into, int offset, int length) throws IOException {
    while (position == end) {
      int type = in.read();
      if (type < 0) {
        return -1;
      }
      readChunk(type);
    }
    int count = Math.min(length, end - position);
    System.arraycopy(chunk, position, into, offset, count);
    position += count;
    return count;
  }

  private void readChunk(int type) throws IOException {
    int length = littleEndian(readBytes(3), 3);
    if (!identified && type != STREAM_IDENTIFIER) {
      throw new IOException("stream does not begin with the identifier");
    }
    position = 0;
    end = 0;
    switch (type) {
      case COMPRESSED, UNCOMPRESSED -> readData(type, length);
      case STREAM_IDENTIFIER -> readIdentifier(length);
      default -> {
        if (type < FIRST_SKIPPABLE) {
          throw new IOException("unknown chunk type that must not be skipped");
        }
        in.skipNBytes(length);
      }
    }
  }

  private void readIdentifier(int length) throws IOException {
    int head = IDENTIFIER.length - length;
    if (head != 4
        || !Arrays.equals(readBytes(length), 0, length, IDENTIFIER, head, head + length)) {
      throw new IOException("invalid stream identifier");
    }
    identified = true;
  }

  private void readData(int type, int length) throws IOException {
    if (length < CHECKSUM_BYTES || length > MAX_COMPRESSED_CHUNK_BYTES) {
      throw new IOException("invalid chunk length");
    }
    int checksum = littleEndian(readBytes(length), CHECKSUM_BYTES);
    int count = length - CHECKSUM_BYTES;
    int uncompressed =
        type == UNCOMPRESSED
            ? count
            : SnappyBlock.uncompressedLength(compressed, CHECKSUM_BYTES, count);
    if (uncompressed > MAX_CHUNK_BYTES) {
      throw new IOException("chunk has more than 64 KiB");
    }
    if (uncompressed > chunk.length) {
      chunk = new byte[uncompressed];
    }
    if (type == UNCOMPRESSED) {
      System.arraycopy(compressed, CHECKSUM_BYTES, chunk, 0, count);
    } else {
      SnappyBlock.uncompress(compressed, CHECKSUM_BYTES, count, chunk);
    }
    if (maskedChecksum(uncompressed) != checksum) {
      throw new IOException("chunk checksum mismatch");
    }
    end = uncompressed;
  }

  /**
   * Returns the masked CRC-32C of the chunk. The format masks checksums, because the CRC of data
   * that contains CRCs is weak.
   */
  private int maskedChecksum(int count) {
    var crc = new CRC32C();
    crc.update(chunk, 0, count);
    return Integer.rotateRight((int) crc.getValue(), 15) + 0xA282EAD8;
  }

  private byte[] readBytes(int count) throws IOException {
    if (count > compressed.length) {
      compressed = new byte[count];
    }
    if (in.readNBytes(compressed, 0, count) < count) {
      throw new EOFException();
    }
    return compressed;
  }

  private static int littleEndian(byte[] bytes, int count) {
    int value = 0;
    for (int i = 0; i < count; i++) {
      value |= (bytes[i] & 0xFF) << i * Byte.SIZE;
    }
    return value;
  }

  @Override
  public void close() throws IOException {
    in.close();
  }
}
