package dev.sluice.wal;

import dev.sluice.core.port.DeadLetterQueue;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.SpoolConsumer;
import dev.sluice.testkit.DeadLettersContract;
import java.io.IOException;
import org.junit.jupiter.api.extension.RegisterExtension;

class WalDeadLetterQueueTest extends DeadLettersContract {
  @RegisterExtension final WalFixture wal;
  private final SpoolConsumer spoolConsumer;

  WalDeadLetterQueueTest() throws IOException {
    wal = new WalFixture(Compression.ZSTD);
    spoolConsumer = wal.newConsumer();
  }

  @Override
  protected Spool spool() {
    return wal.spool();
  }

  @Override
  protected SpoolConsumer deliveries() {
    return spoolConsumer;
  }

  @Override
  protected DeadLetterQueue deadLetters() {
    return wal.spool().deadLetters();
  }
}
