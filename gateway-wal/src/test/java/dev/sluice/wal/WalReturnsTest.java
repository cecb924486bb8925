package dev.sluice.wal;

import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.IdempotencyKeys;
import dev.sluice.core.port.Returns;
import dev.sluice.core.port.Spool;
import dev.sluice.testkit.ReturnsContract;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.io.TempDir;

class WalReturnsTest extends ReturnsContract {
  @TempDir Path directory;
  private WalFixture wal;
  private Returns returns;

  @BeforeEach
  void open() throws IOException {
    wal = new WalFixture(directory, Compression.ZSTD, WalSpoolTest.BOUNDS);
    returns = wal.deliveries();
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
  protected IdempotencyKeys keys() {
    return wal.spool();
  }

  @Override
  protected Backlog backlog() {
    return wal.spool();
  }

  @Override
  protected Returns returns() {
    return returns;
  }

  @Override
  protected void kill() throws IOException {
    wal.kill();
    returns = wal.deliveries();
  }
}
