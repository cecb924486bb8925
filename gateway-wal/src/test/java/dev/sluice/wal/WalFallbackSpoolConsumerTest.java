package dev.sluice.wal;

import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.FallbackSpoolConsumer;
import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.Spool;
import dev.sluice.testkit.FallbackSpoolConsumerContract;
import java.io.IOException;
import org.junit.jupiter.api.extension.RegisterExtension;

class WalFallbackSpoolConsumerTest extends FallbackSpoolConsumerContract {
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
  protected IdempotencyStore idempotencyStore() {
    return wal.spool();
  }

  @Override
  protected Backlog backlog() {
    return wal.spool();
  }

  @Override
  protected FallbackSpoolConsumer consumer() {
    return fallbackSpoolConsumer;
  }

  @Override
  protected void kill() throws IOException {
    wal.kill();
    fallbackSpoolConsumer = wal.newConsumer();
  }
}
