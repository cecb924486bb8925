package dev.sluice.clickhouse;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.junit.jupiter.api.Test;

final class ClickHouseSettingsTest {
  private final ClickHouseSettings settings =
      TestDatabase.settings("http://127.0.0.1:8123", "hunter2");

  @Test
  void toString_password_isNotInIt() {
    assertThat(settings.toString()).contains("sluice").doesNotContain("hunter2");
  }

  @Test
  void new_retentionOfZero_isRejected() {
    assertThatThrownBy(() -> TestDatabase.settings(Duration.ZERO, null))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("retention");
  }
}
