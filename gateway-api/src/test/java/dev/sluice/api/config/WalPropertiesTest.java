package dev.sluice.api.config;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.context.properties.bind.BindException;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;

class WalPropertiesTest {

  private static WalProperties settings(Map<String, String> given) {
    return new Binder(new MapConfigurationPropertySource(given))
        .bindOrCreate("sluice.wal", Bindable.of(WalProperties.class));
  }

  @Test
  void new_noSettings_hasTheDefaults() {
    var settings = settings(Map.of());

    assertThat(settings.dir()).hasFileName("data");
    assertThat(settings.nodeOrElse("host:1/a-8080")).isEqualTo("host-1-a-8080");
    assertThat(settings.writeSettings().flushInterval()).isEqualTo(Duration.ofSeconds(2));
    assertThat(settings.writeSettings().flushBytes()).isEqualTo(64L << 20);
    assertThat(settings.writeSettings().queueBytes()).isPositive();
    assertThat(settings.segmentSettings().segmentBytes()).isEqualTo(1L << 30);
    assertThat(settings.segmentSettings().retainedBytesLowWatermark())
        .isLessThan(settings.segmentSettings().retainedBytesHighWatermark());
  }

  @Test
  void new_nodeGiven_overridesTheInstance() {
    assertThat(settings(Map.of("sluice.wal.node", "n1")).nodeOrElse("host")).isEqualTo("n1");
  }

  @ParameterizedTest
  @CsvSource({
    "0s, 1MB, P365D, 1048576",
    "3s, 0B, PT3S, 9223372036854775807",
    "0s, 0B, PT2S, 9223372036854775807"
  })
  void writeSettings_zero_isUnlimitedUnlessBothAreZero(
      String interval, String bytes, Duration expectedInterval, long expectedBytes) {
    var writeSettings =
        settings(Map.of("sluice.wal.flush-interval", interval, "sluice.wal.flush-bytes", bytes))
            .writeSettings();

    assertThat(writeSettings.flushInterval()).isEqualTo(expectedInterval);
    assertThat(writeSettings.flushBytes()).isEqualTo(expectedBytes);
  }

  @ParameterizedTest
  @CsvSource({
    "retained-bytes-low-watermark, 3GB",
    "retained-bytes-high-watermark, 1GB",
    "node, ../elsewhere",
    "node, ''",
    "flush-interval, -1s",
    "flush-bytes, -1B",
    "queue-bytes, -1B",
    "segment-bytes, 0B",
    "segment-roll-interval, 0s",
    "fsync-interval, 0s",
    "min-free-disk, -1B",
    "retained-bytes-low-watermark, -1B",
    "fsync, often",
    "compression, lz4"
  })
  void new_invalidValue_isRejectedNamingTheSetting(String key, String value) {
    assertThatThrownBy(() -> settings(Map.of("sluice.wal." + key, value)))
        .isInstanceOf(BindException.class)
        .satisfies(e -> assertThat(e + " " + root(e)).contains("sluice.wal." + key));
  }

  private static Throwable root(Throwable e) {
    return e.getCause() == null ? e : root(e.getCause());
  }
}
