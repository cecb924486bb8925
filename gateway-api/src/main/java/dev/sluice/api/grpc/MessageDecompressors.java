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
 * The decompressors of messages: those of gRPC, and those that an OpenTelemetry Collector can be
 * configured with. gRPC limits the decompressed size to the maximum message size.
 */
public final class MessageDecompressors {
  private MessageDecompressors() {}

  /** Returns the registry of all supported decompressors. */
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
   * A stream that opens the decompressor at the first read. So an invalid header fails where the
   * message is read, which leads to a proper status; an error while gRPC opens the stream would be
   * UNKNOWN.
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
