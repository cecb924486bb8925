package dev.sluice.api;

import com.github.luben.zstd.ZstdOutputStreamNoFinalizer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.zip.Deflater;
import java.util.zip.DeflaterOutputStream;
import java.util.zip.GZIPOutputStream;
import org.xerial.snappy.Snappy;
import org.xerial.snappy.SnappyFramedOutputStream;

/** Request bodies in the compressed formats of clients. */
public final class CompressedBodies {
  private CompressedBodies() {}

  private interface Codec {
    OutputStream open(OutputStream out) throws IOException;
  }

  public static byte[] gzip(byte[] body) {
    return compress(body, GZIPOutputStream::new);
  }

  public static byte[] zstd(byte[] body) {
    return compress(body, ZstdOutputStreamNoFinalizer::new);
  }

  /** Compresses in the zlib format, which HTTP calls deflate. */
  public static byte[] deflate(byte[] body) {
    return compress(body, DeflaterOutputStream::new);
  }

  /** Compresses in raw deflate without a header, which is not the deflate of HTTP. */
  public static byte[] rawDeflate(byte[] body) {
    return compress(
        body,
        out -> new DeflaterOutputStream(out, new Deflater(Deflater.DEFAULT_COMPRESSION, true)));
  }

  /** Compresses to one snappy block. */
  public static byte[] snappy(byte[] body) {
    try {
      return Snappy.compress(body);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Compresses in the snappy framing format, like the OpenTelemetry Collector. */
  public static byte[] snappyFramed(byte[] body) {
    return compress(body, SnappyFramedOutputStream::new);
  }

  public static byte[] snappyFramedBomb(int megabytes) {
    return repeat(megabytes, SnappyFramedOutputStream::new);
  }

  /** Compresses with the encoding of this name in the Content-Encoding header. */
  public static byte[] as(String encoding, byte[] body) {
    return switch (encoding) {
      case "gzip", "x-gzip" -> gzip(body);
      case "zstd" -> zstd(body);
      case "deflate" -> deflate(body);
      case "snappy" -> snappy(body);
      case "x-snappy-framed" -> snappyFramed(body);
      default -> body;
    };
  }

  /** Returns a gzip member that decompresses to this many megabytes of blanks. */
  public static byte[] gzipBomb(int megabytes) {
    return repeat(megabytes, GZIPOutputStream::new);
  }

  /** Returns the same blanks with one gzip member per megabyte, which is faster to create. */
  public static byte[] gzipBombOfManyMembers(int megabytes) {
    var member = gzipBomb(1);
    var bytes = new ByteArrayOutputStream();
    for (int i = 0; i < megabytes; i++) {
      bytes.writeBytes(member);
    }
    return bytes.toByteArray();
  }

  public static byte[] zstdBomb(int megabytes) {
    return repeat(megabytes, ZstdOutputStreamNoFinalizer::new);
  }

  private static byte[] compress(byte[] body, Codec codec) {
    var bytes = new ByteArrayOutputStream();
    try (var out = codec.open(bytes)) {
      out.write(body);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }

  private static byte[] repeat(int megabytes, Codec codec) {
    var blanks = new byte[1 << 20];
    Arrays.fill(blanks, (byte) ' ');
    var bytes = new ByteArrayOutputStream();
    try (var out = codec.open(bytes)) {
      for (int i = 0; i < megabytes; i++) {
        out.write(blanks);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return bytes.toByteArray();
  }
}
