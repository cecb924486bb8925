package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.core.port.SpoolConsumer;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class RedisSpoolSettingsTest {
  static final String URL = "redis://127.0.0.1:6379";

  @Test
  void of_urlAndInstance_hasTheDefaults() {
    assertThat(RedisSpool.RedisSpoolSettings.of(URL, "one"))
        .isEqualTo(
            new RedisSpool.RedisSpoolSettings(
                URL,
                1,
                "sluice",
                "sluice",
                "one",
                new SpoolConsumer.DeliveryLimits(500_000, 134_217_728, Duration.ofSeconds(1)),
                Duration.ofMinutes(2),
                Duration.ofSeconds(5),
                new RedisSpool.AppendSettings(
                    0, Duration.ofSeconds(10), 1_000_000, Duration.ofHours(24))));
  }

  @Test
  void construct_invalidValue_throwsNamingTheSetting() {
    var minute = Duration.ofMinutes(1);

    assertRejected("shards", () -> settings(URL, 0, "p", "one", minute, minute));
    assertRejected("prefix", () -> settings(URL, 1, "{p}", "one", minute, minute));
    assertRejected("instance", () -> settings(URL, 1, "p", " ", minute, minute));
    assertRejected(
        "consumer-idle-timeout", () -> settings(URL, 1, "p", "one", Duration.ZERO, minute));
    assertRejected("command-timeout", () -> settings(URL, 1, "p", "one", minute, Duration.ZERO));
    assertRejected("", () -> settings("http://somewhere", 1, "p", "one", minute, minute));
    assertRejected("max-records", () -> new SpoolConsumer.DeliveryLimits(0, 1, minute));
    assertRejected("replicas", () -> new RedisSpool.AppendSettings(-1, minute, 1, minute));
    assertRejected(
        "append-timeout", () -> new RedisSpool.AppendSettings(0, Duration.ZERO, 1, minute));
    assertRejected("idempotency-keys", () -> new RedisSpool.AppendSettings(0, minute, 0, minute));
    assertRejected(
        "idempotency-retention", () -> new RedisSpool.AppendSettings(0, minute, 1, Duration.ZERO));
    assertRejected("linger", () -> new SpoolConsumer.DeliveryLimits(1, 1, minute.negated()));
  }

  private static RedisSpool.RedisSpoolSettings settings(
      String url,
      int shards,
      String prefix,
      String instance,
      Duration consumerIdleTimeout,
      Duration commandTimeout) {
    return new RedisSpool.RedisSpoolSettings(
        url,
        shards,
        prefix,
        "sluice",
        instance,
        SpoolConsumer.DeliveryLimits.DEFAULT,
        consumerIdleTimeout,
        commandTimeout,
        RedisSpool.AppendSettings.DEFAULT);
  }

  private static void assertRejected(String name, Runnable construction) {
    assertThatThrownBy(construction::run)
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(name);
  }
}
