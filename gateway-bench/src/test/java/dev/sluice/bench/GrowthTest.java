package dev.sluice.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class GrowthTest {

  /** Returns a point with the given CPU microseconds per log in the gateway, and none in Redis. */
  private static Growth.MeasuredPoint point(long at, double gateway, double insert) {
    var costs =
        Map.of(
            "gateway", new CaseResult.Cost(gateway, gateway, 1),
            "Redis", new CaseResult.Cost(0, 0, 1),
            "ClickHouse", new CaseResult.Cost(9, 9, 1));
    var caseResult =
        new CaseResult("", 500, 0, 1, 1, 0, 0, 0L, 1, 1, 1, costs, 0, 0, new Latency(1, 2, 2, 3));
    return new Growth.MeasuredPoint(at, 185, caseResult, new InsertCpu(insert, 1, 1), 4);
  }

  private static List<String> verdicts(Axis axis, Growth.MeasuredPoint... points) {
    return new Growth(axis, List.of(points), List.of()).verdicts();
  }

  @Test
  void verdicts_withinAFifth_flat() {
    assertThat(verdicts(Axis.SHARDS, point(1, 1.0, 1), point(2, 1.19, 9), point(4, 1.1, 1)))
        .containsExactly("gateway and Redis: flat within 1.2x: yes (1.19)");
  }

  @Test
  void verdicts_moreThanAFifth_notFlat() {
    assertThat(verdicts(Axis.SHARDS, point(1, 1.0, 1), point(2, 1.21, 1)))
        .containsExactly("gateway and Redis: flat within 1.2x: no (1.21)");
  }

  @Test
  void verdicts_belowFlatFrom_areIgnored() {
    assertThat(verdicts(Axis.CONNECTIONS, point(1, 9, 1), point(2, 1, 1), point(8, 1, 1)))
        .containsExactly("gateway and Redis, from 2 connections on: flat within 1.2x: yes (1.00)");
  }

  @Test
  void verdicts_tableAxis_includeInserts() {
    assertThat(verdicts(Axis.TABLE, point(0, 1, 1), point(10_000_000, 1, 2)))
        .containsExactly(
            "gateway and Redis: flat within 1.2x: yes (1.00)",
            "ClickHouse's inserts: flat within 1.2x: no (2.00)");
  }

  @Test
  void verdicts_bytesAxis_haveTheCostPerByte() {
    assertThat(verdicts(Axis.BYTES, point(64, 1, 2), point(1_064, 1.5, 4)))
        .containsExactly(
            "gateway and Redis: 0.50 ns for each byte",
            "ClickHouse's inserts: 2.00 ns for each byte");
  }

  @Test
  void table_point_hasItsFigures() {
    var growth = new Growth(Axis.SHARDS, List.of(point(2, 1.5, 1)), List.of());

    assertThat(growth.table().lines().toList().get(2))
        .startsWith(
            "| 2 | 185 | 1 | 1 | 1.50 | 0.00 | 9.00 | 9.00 | 1.00 | 1.00 | 1.0 | 2.0 | 4 |");
  }

  @Test
  void soakTest_pendingEntriesGrow_isReported() {
    var samples = new ArrayList<SoakTest.Sample>();
    for (int i = 1; i <= 60; i++) {
      var values = new EnumMap<SoakTest.Measure, Double>(SoakTest.Measure.class);
      values.put(SoakTest.Measure.PENDING, 50.0 + i);
      values.put(SoakTest.Measure.PARTS, 20.0 + i % 3);
      values.put(SoakTest.Measure.STORED, 1_000.0 * i);
      samples.add(new SoakTest.Sample(10.0 * i, values));
    }
    var run = new SoakTest(1_000, point(1, 1, 1).caseResult(), samples);

    assertThat(run.verdicts())
        .anySatisfy(each -> assertThat(each).startsWith("pending").contains("**grows**"))
        .anySatisfy(each -> assertThat(each).startsWith("active parts").contains("does not grow"))
        .contains("heap after GC: too few samples")
        .noneSatisfy(each -> assertThat(each).startsWith("rows stored"));
    assertThat(run.table().lines()).hasSize(2 + 10).last().asString().endsWith("| 60,000 |");
  }
}
