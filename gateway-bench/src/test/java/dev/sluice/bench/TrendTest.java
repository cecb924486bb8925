package dev.sluice.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Test;

class TrendTest {
  private static final List<Double> TEN = list(DoubleStream.iterate(0, x -> x + 1).limit(10));

  private static List<Double> list(DoubleStream values) {
    return values.boxed().toList();
  }

  private static Trend trend(double... values) {
    return Trend.of(TEN, list(DoubleStream.of(values)));
  }

  @Test
  void of_straightLine_hasItsSlopeAndGrowth() {
    var trend = Trend.of(List.of(0.0, 10.0, 20.0), List.of(90.0, 100.0, 110.0));

    assertThat(trend.slope()).isCloseTo(1, within(1e-9));
    assertThat(trend.growth()).isCloseTo(0.2, within(1e-9));
    assertThat(trend.error()).isCloseTo(0, within(1e-9));
    assertThat(trend.verdict()).isEqualTo("**grows**");
  }

  @Test
  void verdict_moreThanATenthWithNoise_isReported() {
    assertThat(trend(100, 103, 101, 108, 109, 112, 111, 117, 118, 120).verdict())
        .isEqualTo("**grows**");
  }

  @Test
  void verdict_lessThanATenth_doesNotGrow() {
    assertThat(trend(100, 101, 102, 103, 104, 105, 106, 107, 108, 109).verdict())
        .isEqualTo("does not grow");
  }

  @Test
  void verdict_decreasing_doesNotGrow() {
    assertThat(trend(200, 190, 180, 170, 160, 150, 140, 130, 120, 110).verdict())
        .isEqualTo("does not grow");
  }

  @Test
  void verdict_moreThanATenthWithinError_isNotReported() {
    var trend = trend(10, 90, 20, 80, 10, 95, 30, 70, 20, 100);

    assertThat(trend.growth()).isGreaterThan(0.1);
    assertThat(trend.verdict()).isEqualTo("inconclusive");
  }

  @Test
  void verdict_alwaysZero_doesNotGrow() {
    var trend = trend(0, 0, 0, 0, 0, 0, 0, 0, 0, 0);

    assertThat(trend.growth()).isZero();
    assertThat(trend.verdict()).isEqualTo("does not grow");
  }
}
