package dev.sluice.api.config;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.springframework.util.unit.DataSize;

class DeliveryPropertiesTest {

  @Test
  void new_noWorkerOrTooMany_isRejected() {
    assertThatThrownBy(() -> settings(0))
        .hasMessageContaining("sluice.delivery.workers is 0, must be from 1 to 16");
    assertThatThrownBy(() -> settings(17)).hasMessageContaining("workers is 17");
  }

  private static DeliveryProperties settings(int workers) {
    return new DeliveryProperties(
        workers,
        1,
        DataSize.ofMegabytes(1),
        Duration.ofSeconds(1),
        new DeliveryProperties.Retry(Duration.ofSeconds(1), Duration.ofSeconds(1)),
        1_000);
  }
}
