package dev.sluice.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.bench.GrowthReport.Axis;
import dev.sluice.bench.GrowthReport.Load;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class GrowthReportTest {

  @Test
  void parseAxes_names_keepTheirOrder() {
    assertThat(GrowthReport.parseAxes(" templates, connections "))
        .containsExactly(Axis.TEMPLATES, Axis.CONNECTIONS);
  }

  @Test
  void parseAxes_unknownName_throws() {
    assertThatThrownBy(() -> GrowthReport.parseAxes("tables"))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void pointsOf_oneAxis_areSorted() {
    assertThat(GrowthReport.pointsOf(Axis.REQUEST, 1, "500 100")).containsExactly(100, 500);
  }

  @Test
  void pointsOf_severalAxes_throws() {
    assertThatThrownBy(() -> GrowthReport.pointsOf(Axis.REQUEST, 2, "1"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("one axis");
  }

  @Test
  void at_axis_changesOneVariable() {
    assertThat(Axis.CONNECTIONS.at(64)).isEqualTo(new Load(64, 500, 0));
    assertThat(Axis.REQUEST.at(1)).isEqualTo(new Load(8, 1, 0));
    assertThat(Axis.TEMPLATES.at(10)).isEqualTo(new Load(8, 500, 10));
    assertThat(Axis.REPEATS.at(7)).isEqualTo(Load.DEFAULT);
  }

  @Test
  void bodies_anyRequestSize_areBounded() {
    assertThat(Axis.REQUEST.at(1).bodies()).isEqualTo(100_000);
    assertThat(Load.DEFAULT.bodies()).isEqualTo(1_000);
    assertThat(Axis.REQUEST.at(5_000).bodies()).isEqualTo(100);
  }

  @Test
  void verdict_costs_hasTheirRatio() {
    assertThat(GrowthReport.verdict(List.of(result(1.2, 0.3), result(1.5, 0.3), result(1, 0.2))))
        .isEqualTo("gateway and Redis: 1.20 to 1.80 µs/log, ratio 1.50");
  }

  private static CaseResult result(double gateway, double redis) {
    var costs =
        Map.of(
            "gateway",
            new CaseResult.Cost(gateway, 9, 1),
            "Redis",
            new CaseResult.Cost(redis, 9, 1),
            "ClickHouse",
            new CaseResult.Cost(9, 9, 1));
    return new CaseResult(
        "", 500, 0, 1, 1, 0, 0, 0L, 1, 1, 1, costs, 0, 0, new Latency(1, 2, 3, 4));
  }
}
