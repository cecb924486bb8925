package dev.sluice.wal;

import java.io.IOException;

class GzipWalSpoolTest extends WalSpoolTest {
  GzipWalSpoolTest() throws IOException {}

  @Override
  Compression compression() {
    return Compression.GZIP;
  }
}
