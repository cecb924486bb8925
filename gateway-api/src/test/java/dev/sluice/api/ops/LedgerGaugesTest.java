package dev.sluice.api.ops;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LedgerGaugesTest {
  @ParameterizedTest
  @CsvSource({
    "PT0.01S, PT30S, PT30S", // few logs
    "PT1S, PT30S, PT1M39S", // a hundredth of the time
    "PT30S, PT30S, PT10M", // the maximum, for many logs or a store that does not respond
    "PT30S, PT1H, PT1H"
  })
  void nextDelay_longCount_limitsCountingToAHundredthWithinBounds(
      Duration duration, Duration interval, Duration delay) {
    assertThat(LedgerGauges.nextDelay(duration, interval)).isEqualTo(delay);
  }
}
