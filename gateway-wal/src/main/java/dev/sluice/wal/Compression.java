package dev.sluice.wal;

/** The compression of frames. The standard tools of each format can read a live segment. */
public enum Compression {
  /** Segments {@code .wal.zst}, readable with {@code zstd -dc}. */
  ZSTD("zst"),

  /** Segments {@code .wal.gz}, readable with {@code zcat}. */
  GZIP("gz");

  private final String suffix;

  Compression(String suffix) {
    this.suffix = suffix;
  }

  /** Returns the suffix of segment names, without the dot. */
  String suffix() {
    return suffix;
  }
}
