package dev.sluice.query.search;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

class GlossaryTest {
  private final Glossary glossary =
      Glossary.of(
          """
          # jargon
          oom\tout of memory
          oom killer\tkernel ends a program
          enospc\tdisk is full
          """);

  @Test
  void meanings_words_areThoseOfTheLongestEntriesInOrderOnce() {
    assertThat(glossary.meanings("enospc then oom killer and oom oom"))
        .containsExactly("disk is full", "kernel ends a program", "out of memory");
    assertThat(glossary.meanings("killer")).isEmpty();
    assertThat(glossary.meanings("")).isEmpty();
  }

  @Test
  void meanings_ofManyTerms_areTheFirstSix() {
    var lines = new StringBuilder();
    for (int i = 0; i < 10; i++) {
      lines.append("word").append(i).append("\tmeaning ").append(i).append('\n');
    }

    assertThat(Glossary.of(lines.toString()).meanings("word9 word1 word2 word3 word4 word5 word6"))
        .containsExactly(
            "meaning 9", "meaning 1", "meaning 2", "meaning 3", "meaning 4", "meaning 5");
  }

  @Test
  void of_malformedLine_isRejected() {
    assertThatThrownBy(() -> Glossary.of("no tab")).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> Glossary.of("a\tb\na\tc"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("a\tc");
  }

  /** An entry in another form would never match a template. */
  @Test
  void bundled_everyEntry_isInPlainWords() {
    assertThat(Glossary.bundled().words())
        .hasSizeGreaterThan(1_000)
        .allSatisfy(words -> assertThat(TextNormalizer.toPlainWords(words)).isEqualTo(words));
  }
}
