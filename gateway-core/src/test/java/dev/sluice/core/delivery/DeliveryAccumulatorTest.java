package dev.sluice.core.delivery;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.SpoolConsumer.DeliveryLimits;
import java.time.Duration;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class DeliveryAccumulatorTest {
  final DeliveryAccumulator<Integer> accumulator =
      new DeliveryAccumulator<>(new DeliveryLimits(100, 1_000, Duration.ZERO));

  @Test
  void add_fullByBytes_rejectsEvenAnEmptyBatch() {
    assertThat(accumulator.add(1, batch(1, 1_000))).isTrue();

    assertThat(accumulator.isFull()).isTrue();
    assertThat(accumulator.add(2, batch(1, 0))).isFalse();
  }

  @Test
  void add_exceedingALimit_isRejectedAndChangesNothing() {
    accumulator.add(1, batch(40, 400));

    assertThat(accumulator.add(2, batch(1, 601))).isFalse();
    assertThat(accumulator.add(2, batch(61, 1))).isFalse();

    assertThat(accumulator.isFull()).isFalse();
    assertThat(accumulator.positions()).containsExactly(1);
    assertThat(accumulator.add(3, batch(60, 600))).isTrue();
  }

  private static LogBatch batch(int records, int payloadBytes) {
    return new LogBatch(
        new UUID(0, 1), "default", 0, new LogId(0, 0), records, 1, new byte[payloadBytes]);
  }
}
