package dev.sluice.api.grpc;

import dev.sluice.api.compression.SnappyFrames;
import dev.sluice.api.compression.Zstd;
import io.grpc.Decompressor;
import io.grpc.DecompressorRegistry;
import java.io.IOException;
import java.io.InputStream;
import java.util.zip.GZIPInputStream;
import org.jspecify.annotations.Nullable;

/**
 * The compressions a message may have: gRPC's own, and those that an OpenTelemetry Collector can be
 * set to. gRPC reads no more of what they unfold to than a message may be long.
 */
public final class Unpacking {
  private Unpacking() {}

  public static DecompressorRegistry registry() {
    return DecompressorRegistry.getDefaultInstance()
        .with(new Named("gzip", GZIPInputStream::new), true)
        .with(new Named("zstd", Zstd::open), true)
        .with(new Named("snappy", SnappyFrames::new), true);
  }

  private interface Opener {
    InputStream open(InputStream in) throws IOException;
  }

  private record Named(String name, Opener opener) implements Decompressor {
    @Override
    public String getMessageEncoding() {
      return name;
    }

    @Override
    public InputStream decompress(InputStream in) {
      return new Opening(opener, in);
    }
  }

  /**
   * Opens what it reads from when it is first read. A header that is none then fails where the
   * message is read, which is answered; here gRPC would make UNKNOWN of it.
   */
  private static final class Opening extends InputStream {
    private final Opener opener;
    private final InputStream packed;
    private @Nullable InputStream unpacked;

    private Opening(Opener opener, InputStream packed) {
      this.opener = opener;
      this.packed = packed;
    }

    private InputStream unpacked() throws IOException {
      var opened = unpacked;
      if (opened == null) {
        opened = opener.open(packed);
        unpacked = opened;
      }
      return opened;
    }

    @Override
    public int read() throws IOException {
      return unpacked().read();
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
      return unpacked().read(bytes, offset, length);
    }

    @Override
    public void close() throws IOException {
      (unpacked == null ? packed : unpacked).close();
    }
  }
}
