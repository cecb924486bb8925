package dev.sluice.api.compression;

import java.io.ByteArrayInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.zip.CRC32C;

/**
 * Snappy's framing format: an identifier, then chunks of at most 64 KiB with their checksums. It
 * has no end mark; what is torn off between two chunks is not seen here.
 *
 * <p>The library's own reader makes room for what a chunk's header announces, up to 16 MiB for four
 * bytes, and for what its block announces, up to 2 GiB.
 */
public final class SnappyFrames extends InputStream {
  private static final byte[] IDENTIFIER = {
    (byte) 0xFF, 6, 0, 0, 's', 'N', 'a', 'P', 'p', 'Y',
  };
  private static final int COMPRESSED = 0x00;
  private static final int PLAIN = 0x01;
  private static final int FIRST_SKIPPABLE = 0x80;
  private static final int BEGIN = 0xFF;
  private static final int CHECKSUM = 4;
  private static final int MOST_IN_CHUNK = 1 << 16;

  /** What a compressor makes of the largest chunk at worst. */
  private static final int MOST_PACKED = CHECKSUM + 32 + MOST_IN_CHUNK + MOST_IN_CHUNK / 6;

  private final InputStream in;
  private byte[] packed = new byte[IDENTIFIER.length];
  private byte[] chunk = new byte[0];
  private boolean begun;
  private int position;
  private int end;

  public SnappyFrames(InputStream in) {
    this.in = in;
  }

  /** Tells them from a block, which cannot begin like this: its first copy would lead nowhere. */
  public static boolean begin(byte[] bytes) {
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
      next(type);
    }
    int count = Math.min(length, end - position);
    System.arraycopy(chunk, position, into, offset, count);
    position += count;
    return count;
  }

  private void next(int type) throws IOException {
    int length = littleEndian(need(3), 3);
    if (!begun && type != BEGIN) {
      throw new IOException("does not begin with the identifier");
    }
    position = 0;
    end = 0;
    switch (type) {
      case COMPRESSED, PLAIN -> data(type, length);
      case BEGIN -> identifier(length);
      default -> {
        if (type < FIRST_SKIPPABLE) {
          throw new IOException("chunk of a kind that must not be passed over");
        }
        in.skipNBytes(length);
      }
    }
  }

  private void identifier(int length) throws IOException {
    int head = IDENTIFIER.length - length;
    if (head != 4 || !Arrays.equals(need(length), 0, length, IDENTIFIER, head, head + length)) {
      throw new IOException("wrong identifier");
    }
    begun = true;
  }

  private void data(int type, int length) throws IOException {
    if (length < CHECKSUM || length > MOST_PACKED) {
      throw new IOException("chunk of impossible length");
    }
    int checksum = littleEndian(need(length), CHECKSUM);
    int count = length - CHECKSUM;
    int unpacked = type == PLAIN ? count : SnappyBlock.length(packed, CHECKSUM, count);
    if (unpacked > MOST_IN_CHUNK) {
      throw new IOException("chunk holds more than 64 KiB");
    }
    if (unpacked > chunk.length) {
      chunk = new byte[unpacked];
    }
    if (type == PLAIN) {
      System.arraycopy(packed, CHECKSUM, chunk, 0, count);
    } else {
      SnappyBlock.unpack(packed, CHECKSUM, count, chunk);
    }
    if (masked(unpacked) != checksum) {
      throw new IOException("checksum is wrong");
    }
    end = unpacked;
  }

  /** As the format wants it, so that a checksum of data with checksums in it says something. */
  private int masked(int count) {
    var crc = new CRC32C();
    crc.update(chunk, 0, count);
    return Integer.rotateRight((int) crc.getValue(), 15) + 0xA282EAD8;
  }

  private byte[] need(int count) throws IOException {
    if (count > packed.length) {
      packed = new byte[count];
    }
    if (in.readNBytes(packed, 0, count) < count) {
      throw new EOFException();
    }
    return packed;
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
