package dev.sluice.wal;

import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.IdempotencyKeys;
import dev.sluice.core.port.Returns;
import dev.sluice.core.port.Spool;
import dev.sluice.testkit.ReturnsContract;
import java.io.IOException;
import org.junit.jupiter.api.extension.RegisterExtension;

class WalReturnsTest extends ReturnsContract {
  @RegisterExtension final WalFixture wal;
  private Returns returns;

  WalReturnsTest() throws IOException {
    wal = new WalFixture(Compression.ZSTD);
    returns = wal.deliveries();
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
