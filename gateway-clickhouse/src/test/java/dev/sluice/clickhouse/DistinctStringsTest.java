package dev.sluice.clickhouse;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class DistinctStringsTest {
  private final DistinctStrings strings = new DistinctStrings();

  private int numberOf(String text) {
    var bytes = ("<" + text + ">").getBytes(UTF_8);
    return strings.numberOf(bytes, 1, bytes.length - 2);
  }

  @Test
  void numberOf_anyTexts_agreesWithAMap() {
    var random = new Random(7);
    for (int round = 0; round < 3; round++) {
      var expected = new HashMap<String, Integer>();
      expected.put("", 0);
      for (int i = 0; i < 200_000; i++) {
        var text = "k".repeat(random.nextInt(12)) + random.nextInt(70_000);

        assertThat(numberOf(text)).isEqualTo(expected.computeIfAbsent(text, _ -> expected.size()));
      }
      assertThat(strings.size()).isEqualTo(expected.size());
      strings.clear();
    }
  }

  @Test
  void numberOf_emptyText_isZero() {
    assertThat(numberOf("")).isZero();
    assertThat(numberOf("a")).isEqualTo(1);
    assertThat(numberOf("")).isZero();
    assertThat(strings.encoded().toByteArray()).containsExactly(0, 1, 'a');
  }
}
