package dev.sluice.wal;

import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.FallbackSpoolConsumer;
import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.Spool;
import dev.sluice.testkit.ReturnsContract;
import java.io.IOException;
import org.junit.jupiter.api.extension.RegisterExtension;

class WalFallbackSpoolConsumerTest extends ReturnsContract {
  @RegisterExtension final WalFixture wal;
  private FallbackSpoolConsumer fallbackSpoolConsumer;

  WalFallbackSpoolConsumerTest() throws IOException {
    wal = new WalFixture(Compression.ZSTD);
    fallbackSpoolConsumer = wal.newConsumer();
  }

  @Override
  protected Spool spool() {
    return wal.spool();
  }

  @Override
  protected IdempotencyStore keys() {
    return wal.spool();
  }

  @Override
  protected Backlog backlog() {
    return wal.spool();
  }

  @Override
  protected FallbackSpoolConsumer returns() {
    return fallbackSpoolConsumer;
  }

  @Override
  protected void kill() throws IOException {
    wal.kill();
    fallbackSpoolConsumer = wal.newConsumer();
  }
}
