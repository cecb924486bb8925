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
public final class MessageDecompressors {
  private MessageDecompressors() {}

  public static DecompressorRegistry registry() {
    return DecompressorRegistry.getDefaultInstance()
        .with(new NamedDecompressor("gzip", GZIPInputStream::new), true)
        .with(new NamedDecompressor("zstd", Zstd::open), true)
        .with(new NamedDecompressor("snappy", SnappyFrames::new), true);
  }

  private interface Opener {
    InputStream open(InputStream in) throws IOException;
  }

  private record NamedDecompressor(String name, Opener opener) implements Decompressor {
    @Override
    public String getMessageEncoding() {
      return name;
    }

    @Override
    public InputStream decompress(InputStream in) {
      return new LazyDecompressingStream(opener, in);
    }
  }

  /**
   * Opens what it reads from when it is first read. A header that is none then fails where the
   * message is read, which is answered; here gRPC would make UNKNOWN of it.
   */
  private static final class LazyDecompressingStream extends InputStream {
    private final Opener opener;
    private final InputStream compressed;
    private @Nullable InputStream delegate;

    private LazyDecompressingStream(Opener opener, InputStream compressed) {
      this.opener = opener;
      this.compressed = compressed;
    }

    private InputStream delegate() throws IOException {
      var opened = delegate;
      if (opened == null) {
        opened = opener.open(compressed);
        delegate = opened;
      }
      return opened;
    }

    @Override
    public int read() throws IOException {
      return delegate().read();
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
      return delegate().read(bytes, offset, length);
    }

    @Override
    public void close() throws IOException {
      (delegate == null ? compressed : delegate).close();
    }
  }
}
