package dev.sluice.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class LoadGeneratorsTest {

  @Test
  void wrk_result_countsOneUnresolvedRequestPerConnection() throws Exception {
    var load =
        Wrk.parse(
            """
            Running 5s test @ http://127.0.0.1:8080/v1/logs
            RESULT {"answers":1000,"refused":10,"broken":2,"micros":5000000,"p50":7000,"p95":14000,"p99":21500,"p999":40000}
            """,
            8);

    assertThat(load).isEqualTo(new LoadResult(990, 12, 20, 5, new Latency(7, 14, 21.5, 40), 0, 0));
  }

  @Test
  void wrk_noResult_throwsWithTheOutput() {
    assertThatThrownBy(() -> Wrk.parse("unable to connect", 8))
        .isInstanceOf(IOException.class)
        .hasMessageContaining("unable to connect");
  }

  @Test
  void ghz_result_countsFailedCalls() throws Exception {
    var load =
        Ghz.parse(
            """
            {"count": 3, "total": 2000000000, "details": [
              {"latency": 3000000, "error": "", "status": "OK"},
              {"latency": 9000000, "error": "x", "status": "Unavailable"},
              {"latency": 5000000, "error": "", "status": "OK"}]}
            """);

    assertThat(load).isEqualTo(new LoadResult(2, 1, 1, 2, new Latency(5, 9, 9, 9), 0, 0));
  }

  @Test
  void vegeta_sentInTime_hasMeasuredLatency() throws Exception {
    var load =
        Vegeta.parse(
            sent(0, "00.000", 4, 200) + sent(1, "00.100", 6, 200) + sent(2, "00.200", 5, 503), 10);

    assertThat(load).isEqualTo(new LoadResult(2, 1, 1, 0.2, new Latency(5, 6, 6, 6), 0, 0));
  }

  @Test
  void vegeta_sentLate_measuresFromTheDueTime() throws Exception {
    // the second was due at 0.1 s, the third was sent before the second
    var load =
        Vegeta.parse(
            sent(0, "00.000", 4, 200) + sent(2, "00.200", 5, 200) + sent(1, "00.250", 6, 200), 10);

    assertThat(load.latency()).isEqualTo(new Latency(5, 156, 156, 156));
  }

  private static String sent(int seq, String second, int millis, int code) {
    return """
        {"attack":"","seq":%d,"code":%d,"timestamp":"2026-01-01T00:00:%sZ","latency":%d}
        """
        .formatted(seq, code, second, millis * 1_000_000L);
  }

  @Test
  void latency_percentiles_areNearestRank() {
    var nanos = LongStream.rangeClosed(1, 1000).map(ms -> (1001 - ms) * 1_000_000).toArray();

    assertThat(Latency.of(nanos)).isEqualTo(new Latency(500, 950, 990, 999));
    assertThat(Latency.of(new long[] {7_000_000})).isEqualTo(new Latency(7, 7, 7, 7));
  }
}
