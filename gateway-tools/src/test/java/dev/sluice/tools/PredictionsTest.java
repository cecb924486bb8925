package dev.sluice.tools;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;

class PredictionsTest {

  @Test
  void put_lines_areCountedOnceEach() {
    var predictions = new Predictions(5);

    predictions.put(5, "a");
    predictions.put(1, "b");
    predictions.put(1, "b"); // line 1 is stored twice
    predictions.put(2, null);
    predictions.put(4, "a");

    assertThat(predictions.readCount()).isEqualTo(4);
    assertThat(predictions.templatedCount()).isEqualTo(3);
    assertThat(predictions.templateCount()).isEqualTo(2);
    assertThat(predictions.template(5)).isEqualTo("a");
    assertThat(predictions.template(2)).isNull();
    assertThat(predictions.template(3)).isNull();
  }

  @Test
  void put_manyLinesOfATemplate_holdsItsIdOnce() {
    var predictions = new Predictions(2);

    predictions.put(1, new String("a"));
    predictions.put(2, new String("a"));

    assertThat(predictions.template(1)).isSameAs(predictions.template(2));
  }

  @Test
  void put_noSuchLine_isRejected() {
    var predictions = new Predictions(1);

    assertThatIllegalArgumentException().isThrownBy(() -> predictions.put(2, "a"));
    assertThatIllegalArgumentException().isThrownBy(() -> predictions.put(0, "a"));
  }
}
