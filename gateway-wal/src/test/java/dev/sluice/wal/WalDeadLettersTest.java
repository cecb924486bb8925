package dev.sluice.wal;

import dev.sluice.core.port.DeadLetters;
import dev.sluice.core.port.Deliveries;
import dev.sluice.core.port.Spool;
import dev.sluice.testkit.DeadLettersContract;
import java.io.IOException;
import org.junit.jupiter.api.extension.RegisterExtension;

class WalDeadLettersTest extends DeadLettersContract {
  @RegisterExtension final WalFixture wal;
  private final Deliveries deliveries;

  WalDeadLettersTest() throws IOException {
    wal = new WalFixture(Compression.ZSTD);
    deliveries = wal.deliveries();
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
