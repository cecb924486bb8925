package dev.sluice.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.AppendResult;
import dev.sluice.core.port.SpoolConsumer;
import java.time.Duration;
import java.time.InstantSource;
import org.junit.jupiter.api.Test;

class InMemorySpoolTest extends SpoolContract {
  final InMemorySpool spool = new InMemorySpool(MAX_RECORDS, MAX_BYTES, InstantSource.system());

  @Override
  protected Spool spool() {
    return spool;
  }

  @Override
  protected Backlog backlog() {
    return spool;
  }

  @Override
  protected SpoolConsumer restartConsumer() {
    return spool;
  }

  @Test
  void append_forcedUnavailable_isUnavailableUntilReset() {
    var unavailable = new AppendResult.Unavailable(Duration.ofSeconds(3), "full");
    spool.setUnavailable(unavailable);

    var refused = spool.append(LogBatches.of(1)).toCompletableFuture().join();

    assertThat(refused).isEqualTo(unavailable);
    assertThat(spool.unavailableReason()).contains("full");
    assertThat(spool.recordCounts()).isEqualTo(new Spool.RecordCounts(0, 0, 0));

    spool.setUnavailable(null);

    assertThat(spool.append(LogBatches.of(1)).toCompletableFuture().join())
        .isInstanceOf(AppendResult.Accepted.class);
    assertThat(spool.unavailableReason()).isEmpty();
  }
}
