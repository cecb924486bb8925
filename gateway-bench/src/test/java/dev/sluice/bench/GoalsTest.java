package dev.sluice.bench;

import static org.assertj.core.api.Assertions.assertThat;

import dev.sluice.bench.EndToEndReport.Case;
import java.util.Map;
import org.junit.jupiter.api.Test;

class GoalsTest {
  private static final Map<String, Outcome.Cost> COSTS =
      Map.of(
          "gateway", new Outcome.Cost(1.2, 1.2, 600),
          "Redis", new Outcome.Cost(0.4, 0.4, 100),
          "ClickHouse", new Outcome.Cost(2, 3, 900));

  @Test
  void all_ofMeasuredCases_sayWhatIsReached() {
    var goals =
        new Goals(
            Map.of(
                Case.OTLP, stored(500_000), Case.GRPC, stored(460_000), Case.GZIP, stored(290_000)),
            new Floor(1, 1, 2));

    assertThat(goals.all())
        .extracting(goal -> String.join(" | ", goal.cells()))
        .containsExactly(
            "OTLP/HTTP, 500 a request: stored logs/s | 600,000 | 500,000 | no",
            "OTLP/HTTP, 500 a request: CPU of gateway and Redis, of the floor's | at most 1.00 | 0.80 | yes",
            "OTLP/HTTP, 500 a request: resident memory of the gateway, MiB | at most 512 | 600 | no",
            "OTLP/gRPC, 500 a request: stored, of OTLP/HTTP's | 0.90 | 0.92 | yes",
            "OTLP/HTTP, gzip: stored, of OTLP/HTTP's | 0.60 | 0.58 | no");
  }

  @Test
  void all_openLoop_isJudgedByItsLatency() {
    assertThat(new Goals(Map.of(Case.OPEN, stored(1)), null).all())
        .singleElement()
        .matches(Goals.Goal::isReached)
        .extracting(Goals.Goal::reached)
        .isEqualTo(20.0);
  }

  private static Outcome stored(double perSecond) {
    return new Outcome(
        "",
        500,
        0,
        1,
        1,
        0,
        0,
        0L,
        perSecond,
        perSecond,
        1,
        COSTS,
        0,
        0,
        new Latency(1, 2, 20, 30));
  }
}
