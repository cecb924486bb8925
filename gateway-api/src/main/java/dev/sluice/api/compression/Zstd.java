package dev.sluice.api.compression;

import com.github.luben.zstd.ZstdInputStreamNoFinalizer;
import java.io.IOException;
import java.io.InputStream;

/** Zstandard (RFC 8878) as the network may send it. */
public final class Zstd {
  /** A frame may ask for a window of 2 GiB; 8 MiB is what RFC 9659 lets a sender use. */
  private static final int WINDOW_BITS = 23;

  private Zstd() {}

  public static InputStream open(InputStream in) throws IOException {
    return new ZstdInputStreamNoFinalizer(in).setLongMax(WINDOW_BITS);
  }
}
