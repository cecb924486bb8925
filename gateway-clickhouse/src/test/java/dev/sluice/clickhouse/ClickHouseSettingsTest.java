package dev.sluice.clickhouse;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.clickhouse.ClickHouseSettings.Indexes;
import java.time.Duration;
import org.junit.jupiter.api.Test;

final class ClickHouseSettingsTest {
  private static final String URL = "http://127.0.0.1:8123";

  private final ClickHouseSettings settings = TestDatabase.settings(URL, "hunter2");

  @Test
  void toString_password_isNotInIt() {
    assertThat(settings.toString()).contains("sluice").doesNotContain("hunter2");
  }

  @Test
  void new_retentionOfZero_isRejected() {
    assertThatThrownBy(
            () -> TestDatabase.settings(URL, "sluice", 1 << 20, Indexes.BODY, Duration.ZERO, null))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("retention");
  }
}
