package dev.sluice.wal;

/** How frames are compressed; the tools of either read a live segment. */
public enum Compression {
  /** {@code .wal.zst}, for {@code zstd -dc}. */
  ZSTD("zst"),

  /** {@code .wal.gz}, for {@code zcat}. */
  GZIP("gz");

  private final String suffix;

  Compression(String suffix) {
    this.suffix = suffix;
  }

  /** Of a segment's name, without the dot. */
  String suffix() {
    return suffix;
  }
}
