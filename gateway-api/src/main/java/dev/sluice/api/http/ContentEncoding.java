package dev.sluice.api.http;

import dev.sluice.api.compression.SnappyBlock;
import dev.sluice.api.compression.SnappyFrames;
import dev.sluice.api.compression.StrictInflaterInputStream;
import dev.sluice.api.compression.Zstd;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

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
      return StrictInflaterInputStream.gzip(body);
    }
  },
  /** RFC 9110 means the zlib format by this name. */
  DEFLATE {
    @Override
    InputStream open(byte[] body) {
      return StrictInflaterInputStream.zlib(body);
    }
  },
  ZSTD {
    @Override
    InputStream open(byte[] body) throws IOException {
      return Zstd.open(new ByteArrayInputStream(body));
    }
  },
  /** One block, or frames as the OpenTelemetry Collector sends them by the same name. */
  SNAPPY {
    @Override
    InputStream open(byte[] body) {
      return SnappyFrames.of(body);
    }

    @Override
    byte[] decode(byte[] body, int limit, MemoryReservation reservation) {
      return body.length == 0 || SnappyFrames.startsWithIdentifier(body)
          ? super.decode(body, limit, reservation)
          : decodeSnappyBlock(body, limit, reservation);
    }
  };

  /** For an Accept-Encoding header. */
  static final String ACCEPT_ENCODING = "gzip, zstd, snappy, x-snappy-framed, deflate, identity";

  private static final int BUFFER = 8192;

  abstract InputStream open(byte[] body) throws IOException;

  /**
   * By the values of Content-Encoding headers, of which each may be a list: none means none.
   *
   * @throws HttpProblemException when it is unknown, or one upon the other
   */
  static ContentEncoding of(List<String> headers) {
    var found = IDENTITY;
    for (var header : headers) {
      for (var name : header.split(",", -1)) {
        var next = forName(name.strip().toLowerCase(Locale.ROOT));
        if (next != IDENTITY && found != IDENTITY) {
          throw HttpProblemException.unsupportedEncoding("content encodings are more than one");
        }
        found = next == IDENTITY ? found : next;
      }
    }
    return found;
  }

  private static ContentEncoding forName(String name) {
    return switch (name) {
      case "", "identity" -> IDENTITY;
      case "gzip", "x-gzip" -> GZIP;
      case "deflate" -> DEFLATE;
      case "zstd" -> ZSTD;
      case "snappy", "x-snappy-framed" -> SNAPPY;
      default ->
          throw HttpProblemException.unsupportedEncoding(
              "content encoding is not one of " + ACCEPT_ENCODING);
    };
  }

  /**
   * Decompresses within {@code limit} bytes.
   *
   * @throws HttpProblemException when it is larger, or not of this encoding
   */
  byte[] decode(byte[] body, int limit, MemoryReservation reservation) {
    if (this == IDENTITY || body.length == 0) {
      return body;
    }
    int size = 0;
    byte[] bytes = new byte[0];
    try (var in = open(body)) {
      while (true) {
        if (size == bytes.length) {
          int grown = nextCapacity(size, body.length, limit);
          reservation.add(grown - size);
          bytes = Arrays.copyOf(bytes, grown);
        }
        int count = in.read(bytes, size, bytes.length - size);
        if (count < 0) {
          break;
        }
        size += count;
        if (size > limit) {
          throw RequestBodyReader.tooLarge(limit);
        }
      }
    } catch (IOException e) {
      throw malformed(size);
    }
    reservation.remove(body.length);
    return bytes.length == size ? bytes : Arrays.copyOf(bytes, size);
  }

  private HttpProblemException malformed(int size) {
    return HttpProblemException.malformed(
        "body is not valid " + name().toLowerCase(Locale.ROOT) + " after " + size + " bytes");
  }

  /** All of it or nothing: a block says beforehand how long it is. */
  private static byte[] decodeSnappyBlock(byte[] body, int limit, MemoryReservation reservation) {
    try {
      int length = SnappyBlock.uncompressedLength(body, 0, body.length);
      if (length > limit) {
        throw RequestBodyReader.tooLarge(limit);
      }
      reservation.add(length);
      byte[] bytes = new byte[length];
      SnappyBlock.uncompress(body, 0, body.length, bytes);
      reservation.remove(body.length);
      return bytes;
    } catch (IOException e) {
      throw SNAPPY.malformed(0);
    }
  }

  /** Room for one byte over the limit is enough to know that it is over. */
  private static int nextCapacity(int size, int compressed, int limit) {
    long wanted = size == 0 ? Math.max(BUFFER, compressed * 4L) : size * 2L;
    return (int) Math.min(wanted, limit + 1L);
  }
}
