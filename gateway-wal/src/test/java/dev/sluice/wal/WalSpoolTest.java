package dev.sluice.wal;

import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.DailyCounts;
import dev.sluice.core.port.DeliveryStatusReader;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.SpoolConsumer;
import dev.sluice.core.port.SpoolConsumer.DeliveryLimits;
import dev.sluice.testkit.SpoolContract;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The spool contract; a restart closes the spool and opens it again. */
class WalSpoolTest extends SpoolContract {
  static final DeliveryLimits LIMITS =
      new DeliveryLimits(MAX_RECORDS, MAX_BYTES, Duration.ofMillis(20));

  @RegisterExtension final WalFixture wal;

  WalSpoolTest() throws IOException {
    wal = new WalFixture(compression());
  }

  Compression compression() {
    return Compression.ZSTD;
  }

  @Override
  protected Spool spool() {
    return wal.spool();
  }

  @Override
  protected SpoolConsumer restartConsumer() {
    try {
      return wal.reopen().newConsumer();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Nested
  class Counts extends DailyCountsContract {
    @Override
    protected DailyCounts dailyCounts() {
      return wal.spool();
    }
  }

  @Nested
  class Status extends DeliveryStatusContract {
    @Override
    protected DeliveryStatusReader deliveryStatuses() {
      return wal.spool();
    }
  }

  @Nested
  class Depth extends BacklogContract {
    @Override
    protected Backlog backlog() {
      return wal.spool();
    }
  }
}
