package dev.sluice.api.config;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.FallbackDuplicateCheck.DuplicateStatus;
import dev.sluice.core.port.Spool.AppendMode;
import dev.sluice.testkit.InMemorySpool;
import dev.sluice.testkit.LogBatches;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class DeliveryLifecycleTest {
  private final InMemorySpool spool = new InMemorySpool();

  @Test
  void describeStop_emptySpool_saysThatTheBacklogIsDelivered() {
    assertThat(DeliveryLifecycle.describeStop(true, spool))
        .isEqualTo("delivery stopped: backlog delivered");
  }

  @Test
  void describeStop_possibleDuplicateWaits_countsIt() throws Exception {
    spool.setDuplicateCheck(_ -> DuplicateStatus.UNKNOWN);
    var _ = spool.append(LogBatches.of(3), AppendMode.POSSIBLE_DUPLICATE);

    var delivery = spool.consumer().poll(Duration.ZERO, Duration.ZERO);

    assertThat(delivery).isEmpty(); // so that its worker is drained
    assertThat(DeliveryLifecycle.describeStop(true, spool))
        .startsWith("delivery stopped: 1 entries remain in the spool: possible duplicates");
  }

  @Test
  void describeStop_timeout_saysThatLogsRemain() {
    assertThat(DeliveryLifecycle.describeStop(false, spool))
        .isEqualTo(
            "delivery stopped at the shutdown timeout: undelivered logs remain in the spool");
  }

  @Test
  void describeStop_spoolIsUnreachable_saysThatTheBacklogIsUnknown() {
    Backlog backlog =
        () -> {
          throw new IllegalStateException("no connection");
        };

    assertThat(DeliveryLifecycle.describeStop(true, backlog))
        .isEqualTo("delivery stopped: the backlog of the spool is unknown: no connection");
  }
}
