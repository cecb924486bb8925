package dev.sluice.api.compression;

import com.github.luben.zstd.ZstdInputStreamNoFinalizer;
import java.io.IOException;
import java.io.InputStream;

/** Decompresses Zstandard (RFC 8878) from clients. */
public final class Zstd {
  /**
   * The maximum window size, as a power of two: 8 MiB, the limit of RFC 9659 for HTTP. A frame
   * could request a window of 2 GiB.
   */
  private static final int WINDOW_BITS = 23;

  private Zstd() {}

  public static InputStream open(InputStream in) throws IOException {
    return new ZstdInputStreamNoFinalizer(in).setLongMax(WINDOW_BITS);
  }
}
