package dev.sluice.wal;

class GzipWalSpoolTest extends WalSpoolTest {
  @Override
  Compression compression() {
    return Compression.GZIP;
  }
}
