package dev.sluice.testkit;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.Deliveries;
import dev.sluice.core.port.Spool;
import dev.sluice.core.port.Spool.Appended;
import java.time.Duration;
import java.time.InstantSource;
import org.junit.jupiter.api.Test;

class InMemorySpoolTest extends SpoolContract {
  final InMemorySpool spool = new InMemorySpool(MAX_RECORDS, MAX_BYTES, 10, InstantSource.system());

  @Override
  protected Spool spool() {
    return spool;
  }

  @Override
  protected Backlog backlog() {
    return spool;
  }

  @Override
  protected Deliveries restarted() {
    return spool;
  }

  @Test
  void append_refusing_isBusyUntilItTakesAgain() {
    var busy = new Appended.Busy(Duration.ofSeconds(3), "full");
    spool.refuse(busy);

    var refused = spool.append(LogBatches.of(1)).toCompletableFuture().join();

    assertThat(refused).isEqualTo(busy);
    assertThat(spool.unavailable()).contains("full");
    assertThat(spool.tally()).isEqualTo(new Spool.Tally(0, 0, 0, 0, 0));

    spool.refuse(null);

    assertThat(spool.append(LogBatches.of(1)).toCompletableFuture().join())
        .isInstanceOf(Appended.Accepted.class);
    assertThat(spool.unavailable()).isEmpty();
  }
}
