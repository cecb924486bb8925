package dev.sluice.clickhouse;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashMap;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class StringDictionaryTest {
  private final StringDictionary strings = new StringDictionary();

  private int intern(String text) {
    var bytes = ("<" + text + ">").getBytes(UTF_8);
    return strings.intern(bytes, 1, bytes.length - 2);
  }

  @Test
  void intern_anyTexts_agreesWithAMap() {
    var random = new Random(7);
    for (int round = 0; round < 3; round++) {
      var expected = new HashMap<String, Integer>();
      expected.put("", 0);
      for (int i = 0; i < 200_000; i++) {
        var text = "k".repeat(random.nextInt(12)) + random.nextInt(70_000);

        assertThat(intern(text)).isEqualTo(expected.computeIfAbsent(text, _ -> expected.size()));
      }
      assertThat(strings.size()).isEqualTo(expected.size());
      strings.clear();
    }
  }

  @Test
  void intern_emptyText_isZero() {
    assertThat(intern("")).isZero();
    assertThat(intern("a")).isEqualTo(1);
    assertThat(intern("")).isZero();
    assertThat(strings.encoded().toByteArray()).containsExactly(0, 1, 'a');
  }
}
