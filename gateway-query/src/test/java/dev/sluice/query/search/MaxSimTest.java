package dev.sluice.query.search;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import org.junit.jupiter.api.Test;

class MaxSimTest {
  private static final float[] X = {1, 0};
  private static final float[] Y = {0, 1};
  private static final float[] BETWEEN = {0.6f, 0.8f};

  private static double score(List<float[]> query, List<float[]> text) {
    return new MaxSim.QueryScorer(MaxSim.pack(query), 2).score(MaxSim.pack(text));
  }

  @Test
  void score_eachQueryToken_countsTheClosestTextToken() {
    assertThat(score(List.of(X), List.of(Y, X))).isCloseTo(1, within(0.01));
    assertThat(score(List.of(X, Y), List.of(X))).isCloseTo(0.5, within(0.01));
    assertThat(score(List.of(X), List.of(BETWEEN))).isCloseTo(0.6, within(0.01));
    assertThat(score(List.of(X), List.of(new float[] {-1, 0}))).isCloseTo(-1, within(0.01));
  }

  @Test
  void score_severalTexts_areIndependent() {
    var scorer = new MaxSim.QueryScorer(MaxSim.pack(List.of(X)), 2);

    assertThat(scorer.score(MaxSim.pack(List.of(Y, BETWEEN, X)))).isCloseTo(1, within(0.01));
    assertThat(scorer.score(MaxSim.pack(List.of(Y)))).isCloseTo(0, within(0.01));
    assertThat(scorer.score(MaxSim.pack(List.of(Y, BETWEEN, Y, Y)))).isCloseTo(0.6, within(0.01));
  }

  @Test
  void pack_empty_isEmpty() {
    assertThat(MaxSim.pack(List.of())).isEmpty();
  }
}
