package dev.sluice.wal;

import dev.sluice.core.port.DeadLetterQueue;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.SpoolConsumer;
import dev.sluice.testkit.DeadLetterQueueContract;
import java.io.IOException;
import org.junit.jupiter.api.extension.RegisterExtension;

class WalDeadLetterQueueTest extends DeadLetterQueueContract {
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
  protected SpoolConsumer consumer() {
    return spoolConsumer;
  }

  @Override
  protected DeadLetterQueue deadLetterQueue() {
    return wal.spool().deadLetters();
  }
}
