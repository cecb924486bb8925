package dev.sluice.redis;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** States that are hard to produce in a real Redis; other tests use a real one. */
class RedisServerInfoTest {
  private static final String HEALTHY =
      "role:master\r\nloading:0\r\naof_enabled:1\r\naof_last_write_status:ok\r\n"
          + "maxmemory:0\r\nmaxmemory_policy:noeviction\r\nconnected_slaves:0\r\n";

  @Test
  void notDurableReason_healthy_isEmpty() {
    assertThat(RedisServerInfo.parse(HEALTHY).notDurableReason(0)).isEmpty();
    assertThat(RedisServerInfo.parse(HEALTHY).unavailableReason(false)).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({
    "aof_last_write_status:ok, aof_last_write_status:err, cannot write",
    "aof_enabled:1, aof_enabled:0, writes no append-only file",
  })
  void notDurableReason_appendOnlyFileNotWritten_namesTheCause(
      String healthyLine, String failedLine, String reason) {
    assertThat(
            RedisServerInfo.parse(HEALTHY.replace(healthyLine, failedLine))
                .notDurableReason(0)
                .orElseThrow())
        .contains(reason);
  }

  @Test
  void notDurableReason_tooFewReplicas_namesTheCounts() {
    assertThat(RedisServerInfo.parse(HEALTHY).notDurableReason(2).orElseThrow()).contains("0", "2");
  }

  @Test
  void unavailableReason_loading_isReported() {
    assertThat(
            RedisServerInfo.parse(HEALTHY.replace("loading:0", "loading:1"))
                .unavailableReason(false)
                .orElseThrow())
        .contains("loading");
  }
}
