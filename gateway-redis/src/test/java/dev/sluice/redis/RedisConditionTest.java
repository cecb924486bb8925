package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What a real Redis is hard to bring to say; the rest is asked of real ones. */
class RedisConditionTest {
  private static final String WELL =
      "role:master\r\nloading:0\r\naof_enabled:1\r\naof_last_write_status:ok\r\n"
          + "maxmemory:0\r\nmaxmemory_policy:noeviction\r\nconnected_slaves:0\r\n";

  @Test
  void notDurable_allIsWell_isNotSaid() {
    assertThat(RedisCondition.of(WELL).notDurable(0)).isEmpty();
    assertThat(RedisCondition.of(WELL).unavailable(false)).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "aof_last_write_status:ok, aof_last_write_status:err, cannot write",
    "aof_enabled:1, aof_enabled:0, keeps no append-only file",
  })
  void notDurable_fileIsNotWritten_saysWhy(String is, String was, String reason) {
    assertThat(RedisCondition.of(WELL.replace(is, was)).notDurable(0).orElseThrow())
        .contains(reason);
  }

  @Test
  void notDurable_fewerReplicasThanThereShouldBe_saysHowMany() {
    assertThat(RedisCondition.of(WELL).notDurable(2).orElseThrow()).contains("0", "2");
  }

  @Test
  void unavailable_stillLoading_saysSo() {
    assertThat(
            RedisCondition.of(WELL.replace("loading:0", "loading:1"))
                .unavailable(false)
                .orElseThrow())
        .contains("loading");
  }
}
