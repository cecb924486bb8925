package dev.sluice.api.http;

import dev.sluice.api.compression.SnappyBlock;
import dev.sluice.api.compression.SnappyFrames;
import dev.sluice.api.compression.StrictInflaterInputStream;
import dev.sluice.api.compression.Zstd;
import dev.sluice.core.ingest.BodyEncoding;
import dev.sluice.core.ingest.DecodeException;
import dev.sluice.core.ingest.MemoryReservation;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/** The content encodings of request bodies. */
enum ContentEncoding implements BodyEncoding {
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
  /** The zlib format, which RFC 9110 calls deflate. */
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
  /** A Snappy block, or Snappy frames, which the OpenTelemetry Collector sends by the same name. */
  SNAPPY {
    @Override
    InputStream open(byte[] body) {
      return SnappyFrames.of(body);
    }

    @Override
    public byte[] decode(byte[] body, int limit, MemoryReservation reservation) {
      return body.length == 0 || SnappyFrames.startsWithIdentifier(body)
          ? super.decode(body, limit, reservation)
          : decodeSnappyBlock(body, limit, reservation);
    }
  };

  /** The value of the Accept-Encoding header of a 415 response. */
  static final String ACCEPT_ENCODING = "gzip, zstd, snappy, x-snappy-framed, deflate, identity";

  private static final int BUFFER = 8192;

  abstract InputStream open(byte[] body) throws IOException;

  /**
   * Returns the encoding that the Content-Encoding headers name, each of which may be a list;
   * identity without a header.
   *
   * @throws HttpProblemException when an encoding is unknown, or there is more than one
   */
  static ContentEncoding of(List<String> headers) {
    var found = IDENTITY;
    for (var header : headers) {
      for (var name : header.split(",", -1)) {
        var next = forName(name.strip().toLowerCase(Locale.ROOT));
        if (next != IDENTITY && found != IDENTITY) {
          throw HttpProblemException.unsupportedEncoding("there is more than one content encoding");
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

  @Override
  public byte[] decode(byte[] body, int limit, MemoryReservation reservation) {
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
          throw DecodeException.tooLarge(RequestBodyReader.tooLargeMessage(limit));
        }
      }
    } catch (IOException e) {
      throw malformed(size);
    }
    reservation.remove(body.length);
    return bytes.length == size ? bytes : Arrays.copyOf(bytes, size);
  }

  @Override
  public int maxInlineBytes() {
    return switch (this) {
      case IDENTITY -> MAX_INLINE_BYTES;
      case ZSTD -> MAX_INLINE_UNBOUNDED_BYTES;
      case GZIP, DEFLATE, SNAPPY -> MAX_INLINE_BYTES / 256; // which may expand a thousand times
    };
  }

  private DecodeException malformed(int size) {
    return DecodeException.malformed(
        "body is not valid " + name().toLowerCase(Locale.ROOT) + " after " + size + " bytes");
  }

  /** Decompresses a Snappy block, which starts with its uncompressed length. */
  private static byte[] decodeSnappyBlock(byte[] body, int limit, MemoryReservation reservation) {
    try {
      int length = SnappyBlock.uncompressedLength(body, 0, body.length);
      if (length > limit) {
        throw DecodeException.tooLarge(RequestBodyReader.tooLargeMessage(limit));
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

  /** Returns the next capacity; one byte above the limit is enough to detect a body above it. */
  private static int nextCapacity(int size, int compressed, int limit) {
    long capacity = size == 0 ? Math.max(BUFFER, compressed * 4L) : size * 2L;
    return (int) Math.min(capacity, limit + 1L);
  }
}
