package dev.sluice.core.delivery;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.SpoolConsumer.DeliveryLimits;
import java.time.Duration;
import java.util.BitSet;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class GatheringTest {
  final Gathering<Integer> gathering =
      new Gathering<>(new DeliveryLimits(100, 1_000, Duration.ZERO));

  @Test
  void add_fullByBytes_takesNotEvenABatchOfNoBytes() {
    assertThat(gathering.add(1, batch(1, 1_000))).isTrue();

    assertThat(gathering.isFull()).isTrue();
    assertThat(gathering.add(2, batch(1, 0))).isFalse();
  }

  @Test
  void add_wouldGoOverABound_isRefusedAndChangesNothing() {
    gathering.add(1, batch(40, 400));

    assertThat(gathering.add(2, batch(1, 601))).isFalse();
    assertThat(gathering.add(2, batch(61, 1))).isFalse();

    assertThat(gathering.isFull()).isFalse();
    assertThat(gathering.places()).containsExactly(1);
    assertThat(gathering.add(3, batch(60, 600))).isTrue();
  }

  private static LogBatch batch(int records, int held) {
    return new LogBatch(
        new UUID(0, 1), "default", 0, new LogId(0, 0), records, 1, new BitSet(), new byte[held]);
  }
}
