package dev.sluice.wal;

import dev.sluice.core.port.DeadLetters;
import dev.sluice.core.port.Deliveries;
import dev.sluice.core.port.Spool;
import dev.sluice.testkit.DeadLettersContract;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

class WalDeadLettersTest extends DeadLettersContract {
  @TempDir Path directory;
  private WalFixture wal;
  private Deliveries deliveries;

  @BeforeEach
  void open() throws IOException {
    wal = new WalFixture(directory, Compression.ZSTD, WalSpoolTest.BOUNDS);
    deliveries = wal.deliveries();
  }

  @AfterEach
  void close() {
    wal.close();
  }

  @Override
  protected Spool spool() {
    return wal.spool();
  }

  @Override
  protected Deliveries deliveries() {
    return deliveries;
  }

  @Override
  protected DeadLetters deadLetters() {
    return wal.spool().deadLetters();
  }
}
