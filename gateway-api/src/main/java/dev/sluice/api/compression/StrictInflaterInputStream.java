package dev.sluice.api.compression;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.zip.CRC32;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;
import java.util.zip.ZipException;

/**
 * Decompresses gzip (RFC 1952, with concatenated members) or zlib (RFC 1950) and rejects any data
 * after the end.
 *
 * <p>The JDK's streams ignore trailing data: a second member that is truncated within its header
 * would be lost silently, although the client receives a success response.
 */
public final class StrictInflaterInputStream extends InputStream {
  private static final int HEADER_BYTES = 10;
  private static final int TRAILER_BYTES = 8;
  private static final int HAS_CRC = 2;
  private static final int HAS_EXTRA = 4;
  private static final int HAS_NAME = 8;
  private static final int HAS_COMMENT = 16;
  private static final int RESERVED = 0xE0;

  private final byte[] in;
  private final boolean gzip;
  private final Inflater inflater;
  private final CRC32 crc = new CRC32();
  private int position;
  private boolean inMember;

  private StrictInflaterInputStream(byte[] in, boolean gzip) {
    this.in = in;
    this.gzip = gzip;
    this.inflater = new Inflater(gzip);
  }

  public static InputStream gzip(byte[] bytes) {
    return new StrictInflaterInputStream(bytes, true);
  }

  public static InputStream zlib(byte[] bytes) {
    return new StrictInflaterInputStream(bytes, false);
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
  }

  @Override
  public int read(byte[] into, int offset, int length) throws IOException {
    while (inMember || position < in.length) {
      if (!inMember) {
        beginMember();
      }
      int count = inflate(into, offset, length);
      if (count > 0) {
        return count;
      }
      if (!inflater.finished()) {
        throw new EOFException();
      }
      endMember();
    }
    return -1;
  }

  private int inflate(byte[] into, int offset, int length) throws IOException {
    try {
      int count = inflater.inflate(into, offset, length);
      if (gzip) {
        crc.update(into, offset, count);
      }
      return count;
    } catch (DataFormatException e) {
      throw new ZipException(e.getMessage());
    }
  }

  private void beginMember() throws IOException {
    if (gzip) {
      readHeader();
      inflater.reset();
      crc.reset();
    } else if (position > 0) {
      throw new ZipException("data after the end of the stream");
    }
    inflater.setInput(in, position, in.length - position);
    inMember = true;
  }

  private void endMember() throws IOException {
    position = in.length - inflater.getRemaining();
    inMember = false;
    if (gzip) {
      requireAvailable(TRAILER_BYTES);
      if (readLittleEndianInt() != (int) crc.getValue()
          || readLittleEndianInt() != (int) inflater.getBytesWritten()) {
        throw new ZipException("checksum or length mismatch");
      }
    }
  }

  private void readHeader() throws IOException {
    requireAvailable(HEADER_BYTES);
    int flags = in[position + 3];
    if (in[position] != 0x1F
        || in[position + 1] != (byte) 0x8B
        || in[position + 2] != 8
        || (flags & RESERVED) != 0) {
      throw new ZipException("not gzip");
    }
    position += HEADER_BYTES;
    if ((flags & HAS_EXTRA) != 0) {
      requireAvailable(2);
      int length = in[position] & 0xFF | (in[position + 1] & 0xFF) << 8;
      position += 2;
      requireAvailable(length);
      position += length;
    }
    if ((flags & HAS_NAME) != 0) {
      skipText();
    }
    if ((flags & HAS_COMMENT) != 0) {
      skipText();
    }
    if ((flags & HAS_CRC) != 0) {
      requireAvailable(2);
      position += 2;
    }
  }

  private void skipText() throws IOException {
    do {
      requireAvailable(1);
    } while (in[position++] != 0);
  }

  private int readLittleEndianInt() {
    int value = 0;
    for (int shift = 0; shift < Integer.SIZE; shift += Byte.SIZE) {
      value |= (in[position++] & 0xFF) << shift;
    }
    return value;
  }

  private void requireAvailable(int count) throws IOException {
    if (in.length - position < count) {
      throw new EOFException();
    }
  }

  @Override
  public void close() {
    inflater.end();
  }
}
