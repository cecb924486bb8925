package dev.sluice.wal;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdCompressCtx;
import com.github.luben.zstd.ZstdException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Random;
import java.util.zip.CRC32;
import java.util.zip.DataFormatException;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import java.util.zip.Inflater;

/** A frame format whose lines are a number and filler text; segments need no other content. */
final class NumberedFrameFormat implements FrameFormat {
  static final NumberedFrameFormat FORMAT = new NumberedFrameFormat();
  private static final int ZSTD = 0x28b52ffd;
  private static final int GZIP_HEADER = 10;
  private static final int GZIP_TRAILER = 8;

  private NumberedFrameFormat() {}

  static Frame frame(long number) {
    return frame(number, Compression.ZSTD, 1, 20);
  }

  /**
   * @param ballast number of filler characters in each line, which hardly compress
   */
  static Frame frame(long number, Compression compression, int lines, int ballast) {
    var random = new Random(number);
    var text = new StringBuilder();
    for (int i = 0; i < lines; i++) {
      text.append(number).append(' ');
      for (int j = 0; j < ballast; j++) {
        text.append((char) (33 + random.nextInt(90)));
      }
      text.append('\n');
    }
    var payload = text.toString().getBytes(ISO_8859_1);
    return toFrame(compress(payload, compression), payload);
  }

  private static byte[] compress(byte[] payload, Compression compression) {
    if (compression == Compression.ZSTD) {
      try (var context = new ZstdCompressCtx()) {
        return context.setChecksum(true).setLevel(1).compress(payload);
      }
    }
    var bytes = new ByteArrayOutputStream();
    try (var gzip = new GZIPOutputStream(bytes)) {
      gzip.write(payload);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }

  private static Frame toFrame(byte[] bytes, byte[] payload) {
    var crc = new CRC32();
    crc.update(payload);
    int lines = 0;
    for (byte b : payload) {
      lines += b == '\n' ? 1 : 0;
    }
    long number = numberOf(payload);
    return new Frame(bytes, payload.length, lines, number, number, crc.getValue());
  }

  private static long numberOf(byte[] payload) {
    var text = new String(payload, ISO_8859_1);
    return Long.parseLong(text.substring(0, text.indexOf(' ')));
  }

  static long number(byte[] frame) {
    try {
      return numberOf(payload(frame));
    } catch (IOException | ZstdException e) {
      throw new IllegalArgumentException(e);
    }
  }

  private static byte[] payload(byte[] frame) throws IOException {
    if (ByteBuffer.wrap(frame).getInt() == ZSTD) {
      return Zstd.decompress(frame);
    }
    try (var gzip = new GZIPInputStream(new ByteArrayInputStream(frame))) {
      return gzip.readAllBytes();
    }
  }

  @Override
  public Frame describe(byte[] frame) throws UnreadableFrameException {
    try {
      return toFrame(frame, payload(frame));
    } catch (IOException | RuntimeException e) {
      throw UnreadableFrameException.corrupt(String.valueOf(e.getMessage()));
    }
  }

  @Override
  public int lengthOf(ByteBuffer buffer) throws UnreadableFrameException {
    var bytes =
        Arrays.copyOfRange(
            buffer.array(),
            buffer.arrayOffset() + buffer.position(),
            buffer.arrayOffset() + buffer.limit());
    if (bytes.length < GZIP_HEADER) {
      return -1;
    }
    if (ByteBuffer.wrap(bytes).getInt() == ZSTD) {
      try {
        long size = Zstd.findFrameCompressedSize(bytes);
        return size <= 0 || Zstd.isError(size) ? -1 : (int) size;
      } catch (ZstdException _) {
        return -1;
      }
    }
    if (bytes[0] == 0x1f && bytes[1] == (byte) 0x8b) {
      return gzipLength(bytes);
    }
    throw UnreadableFrameException.corrupt("unknown compression format");
  }

  private static int gzipLength(byte[] bytes) throws UnreadableFrameException {
    try (var inflater = new Inflater(true)) {
      inflater.setInput(bytes, GZIP_HEADER, bytes.length - GZIP_HEADER);
      var out = new byte[8192];
      while (!inflater.finished()) {
        if (inflater.inflate(out) == 0 && inflater.needsInput()) {
          return -1;
        }
      }
      int length = (int) (GZIP_HEADER + inflater.getBytesRead() + GZIP_TRAILER);
      return length > bytes.length ? -1 : length;
    } catch (DataFormatException e) {
      throw UnreadableFrameException.corrupt(String.valueOf(e.getMessage()));
    }
  }
}
