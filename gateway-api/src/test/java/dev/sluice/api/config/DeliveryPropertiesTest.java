package dev.sluice.api.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.springframework.util.unit.DataSize;

class DeliveryPropertiesTest {

  @Test
  void new_fewerDeadLettersThanOfOneBatch_isRejectedNamingBothSettings() {
    assertThatThrownBy(() -> settings(999, 1_000))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("sluice.delivery.max-dead-letters is 999")
        .hasMessageContaining("sluice.delivery.max-dead-letters-per-batch, which is 1000");
    assertThat(settings(1_000, 1_000).maxDeadLetters()).isEqualTo(1_000);
  }

  @Test
  void new_noWorkerOrTooMany_isRejected() {
    assertThatThrownBy(() -> settings(0, 1_000, 1_000))
        .hasMessageContaining("sluice.delivery.workers is 0, must be from 1 to 16");
    assertThatThrownBy(() -> settings(17, 1_000, 1_000)).hasMessageContaining("workers is 17");
  }

  private static DeliveryProperties settings(int deadLetters, int maxPerBatch) {
    return settings(1, deadLetters, maxPerBatch);
  }

  private static DeliveryProperties settings(int workers, int deadLetters, int maxPerBatch) {
    return new DeliveryProperties(
        workers,
        1,
        DataSize.ofMegabytes(1),
        Duration.ofSeconds(1),
        new DeliveryProperties.Retry(Duration.ofSeconds(1), Duration.ofSeconds(1)),
        deadLetters,
        maxPerBatch);
  }
}
