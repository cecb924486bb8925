package dev.sluice.core.search;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.List;
import org.junit.jupiter.api.Test;

class TokenVectorsTest {
  private static final float[] X = {1, 0};
  private static final float[] Y = {0, 1};
  private static final float[] BETWEEN = {0.6f, 0.8f};

  private static double closeness(List<float[]> question, List<float[]> text) {
    return new TokenVectors.Question(TokenVectors.pack(question), 2)
        .closeness(TokenVectors.pack(text));
  }

  @Test
  void closeness_eachTokenOfTheQuestion_countsByTheClosestOfTheText() {
    assertThat(closeness(List.of(X), List.of(Y, X))).isCloseTo(1, within(0.01));
    assertThat(closeness(List.of(X, Y), List.of(X))).isCloseTo(0.5, within(0.01));
    assertThat(closeness(List.of(X), List.of(BETWEEN))).isCloseTo(0.6, within(0.01));
    assertThat(closeness(List.of(X), List.of(new float[] {-1, 0}))).isCloseTo(-1, within(0.01));
  }

  @Test
  void closeness_oneTextAfterTheOther_isOfEachAlone() {
    var asked = new TokenVectors.Question(TokenVectors.pack(List.of(X)), 2);

    assertThat(asked.closeness(TokenVectors.pack(List.of(Y, BETWEEN, X))))
        .isCloseTo(1, within(0.01));
    assertThat(asked.closeness(TokenVectors.pack(List.of(Y)))).isCloseTo(0, within(0.01));
    assertThat(asked.closeness(TokenVectors.pack(List.of(Y, BETWEEN, Y, Y))))
        .isCloseTo(0.6, within(0.01));
  }

  @Test
  void pack_nothing_isNothing() {
    assertThat(TokenVectors.pack(List.of())).isEmpty();
  }
}
