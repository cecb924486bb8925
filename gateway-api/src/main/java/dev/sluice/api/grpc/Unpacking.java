package dev.sluice.api.grpc;

import dev.sluice.api.compression.SnappyFrames;
import dev.sluice.api.compression.Zstd;
import io.grpc.Decompressor;
import io.grpc.DecompressorRegistry;
import java.io.IOException;
import java.io.InputStream;

/**
 * The compressions a message may have: gRPC's own, and those that an OpenTelemetry Collector can be
 * set to. gRPC reads no more of what they unfold to than a message may be long.
 */
public final class Unpacking {
  private Unpacking() {}

  public static DecompressorRegistry registry() {
    return DecompressorRegistry.getDefaultInstance()
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
    public InputStream decompress(InputStream in) throws IOException {
      return opener.open(in);
    }
  }
}
