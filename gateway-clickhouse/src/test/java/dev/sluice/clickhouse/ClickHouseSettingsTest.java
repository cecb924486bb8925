package dev.sluice.clickhouse;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.clickhouse.ClickHouseSettings.Indexes;
import java.time.Duration;
import org.junit.jupiter.api.Test;

final class ClickHouseSettingsTest {
  private final ClickHouseSettings settings =
      ClickHouseSettings.of("http://127.0.0.1:8123", "sluice", "hunter2");

  @Test
  void of_nothingConfigured_hasTheDefaults() {
    assertThat(settings.database()).isEqualTo("default");
    assertThat(settings.insertTimeout()).isEqualTo(Duration.ofSeconds(60));
    assertThat(settings.queryTimeout()).isEqualTo(Duration.ofSeconds(30));
    assertThat(settings.maxInsertBytes()).isEqualTo(256 << 20);
    assertThat(settings.indexes()).isEqualTo(Indexes.BODY);
    assertThat(settings.retention()).isNull();
  }

  @Test
  void toString_password_isNotInIt() {
    assertThat(settings.toString()).contains("sluice").doesNotContain("hunter2");
  }

  @Test
  void withRetention_zero_isRejected() {
    assertThatThrownBy(() -> settings.withRetention(Duration.ZERO))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("retention");
  }
}
