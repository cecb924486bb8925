package dev.sluice.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.DailyCounts;
import dev.sluice.core.port.DailyCounts.RecordCounts;
import dev.sluice.core.port.DeliveryStatusReader;
import dev.sluice.core.port.FallbackCounts;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.core.port.Spool.AppendResult;
import dev.sluice.core.port.SpoolConsumer;
import java.time.Duration;
import java.time.InstantSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

class InMemorySpoolTest extends SpoolContract {
  final InMemorySpool spool = new InMemorySpool(MAX_RECORDS, MAX_BYTES, InstantSource.system());

  @Override
  protected Spool spool() {
    return spool;
  }

  @Override
  protected SpoolConsumer restartConsumer() {
    return spool.consumer();
  }

  @Test
  void append_forcedUnavailable_isUnavailableUntilReset() {
    var unavailable = new AppendResult.Unavailable(Duration.ofSeconds(3), "full");
    spool.setUnavailable(unavailable);

    var refused = spool.append(LogBatches.of(1), AppendMode.SYNC).toCompletableFuture().join();

    assertThat(refused).isEqualTo(unavailable);
    assertThat(unavailableReason()).isEqualTo("full");
    assertThat(spool.recordCounts()).isEqualTo(new RecordCounts(0, 0, 0));

    spool.setUnavailable(null);

    assertThat(spool.append(LogBatches.of(1), AppendMode.SYNC).toCompletableFuture().join())
        .isInstanceOf(AppendResult.Accepted.class);
    assertThat(unavailableReason()).isNull();
  }

  private @Nullable String unavailableReason() {
    return spool.status().toCompletableFuture().join().unavailableReason();
  }

  @Nested
  class Counts extends DailyCountsContract {
    @Override
    protected DailyCounts dailyCounts() {
      return spool;
    }
  }

  @Nested
  class Fallbacks extends FallbackCountsContract {
    @Override
    protected FallbackCounts fallbackCounts() {
      return spool;
    }
  }

  @Nested
  class Status extends DeliveryStatusContract {
    @Override
    protected DeliveryStatusReader deliveryStatuses() {
      return spool;
    }
  }

  @Nested
  class Depth extends BacklogContract {
    @Override
    protected Backlog backlog() {
      return spool;
    }
  }
}
