package dev.sluice.api.http;

import com.github.luben.zstd.ZstdInputStreamNoFinalizer;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** The compressions a request body may have. */
enum ContentEncoding {
  IDENTITY {
    @Override
    InputStream open(byte[] body) {
      return new ByteArrayInputStream(body);
    }
  },
  GZIP {
    @Override
    InputStream open(byte[] body) {
      return Deflated.gzip(body);
    }
  },
  /** RFC 9110 means the zlib format by this name. */
  DEFLATE {
    @Override
    InputStream open(byte[] body) {
      return Deflated.zlib(body);
    }
  },
  ZSTD {
    @Override
    InputStream open(byte[] body) throws IOException {
      // a frame may ask for a window of 2 GiB; 8 MiB is what RFC 9659 lets a sender use
      return new ZstdInputStreamNoFinalizer(new ByteArrayInputStream(body)).setLongMax(23);
    }
  };

  private static final int BUFFER = 8192;

  abstract InputStream open(byte[] body) throws IOException;

  /**
   * By the value of a Content-Encoding header; absent means none.
   *
   * @throws RequestRefused when it is unknown
   */
  static ContentEncoding of(@Nullable String header) {
    if (header == null) {
      return IDENTITY;
    }
    return switch (header.strip().toLowerCase(Locale.ROOT)) {
      case "", "identity" -> IDENTITY;
      case "gzip", "x-gzip" -> GZIP;
      case "deflate" -> DEFLATE;
      case "zstd" -> ZSTD;
      default ->
          throw RequestRefused.unsupported(
              "content encoding is not one of gzip, zstd, deflate, identity");
    };
  }

  /**
   * Decompresses within {@code limit} bytes.
   *
   * @throws RequestRefused when it is larger, or not of this encoding
   */
  byte[] decode(byte[] body, int limit, Reservation reservation) {
    if (this == IDENTITY || body.length == 0) {
      return body;
    }
    int size = 0;
    byte[] bytes = new byte[0];
    try (var in = open(body)) {
      while (true) {
        if (size == bytes.length) {
          int grown = grow(size, body.length, limit);
          reservation.add(grown - size);
          bytes = Arrays.copyOf(bytes, grown);
        }
        int count = in.read(bytes, size, bytes.length - size);
        if (count < 0) {
          break;
        }
        size += count;
        if (size > limit) {
          throw RequestBody.tooLarge(limit);
        }
      }
    } catch (IOException e) {
      throw RequestRefused.malformed(
          "body is not valid " + name().toLowerCase(Locale.ROOT) + " after " + size + " bytes");
    }
    reservation.remove(body.length);
    return bytes.length == size ? bytes : Arrays.copyOf(bytes, size);
  }

  /** Room for one byte over the limit is enough to know that it is over. */
  private static int grow(int size, int compressed, int limit) {
    long wanted = size == 0 ? Math.max(BUFFER, compressed * 4L) : size * 2L;
    return (int) Math.min(wanted, limit + 1L);
  }
}
