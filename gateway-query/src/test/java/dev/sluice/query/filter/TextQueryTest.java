package dev.sluice.query.filter;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.sluice.query.filter.TextQuery.AllTerms;
import dev.sluice.query.filter.TextQuery.And;
import dev.sluice.query.filter.TextQuery.Not;
import dev.sluice.query.filter.TextQuery.Or;
import dev.sluice.query.filter.TextQuery.Phrase;
import java.util.List;
import org.junit.jupiter.api.Test;

class TextQueryTest {
  private static final TextQuery A = new AllTerms("a");
  private static final TextQuery B = new AllTerms("b");
  private static final TextQuery C = new AllTerms("c");

  @Test
  void parse_words_areOneTerm() {
    assertThat(TextQuery.parse("a")).isEqualTo(A);
    assertThat(TextQuery.parse(" connection  refused\t"))
        .isEqualTo(new AllTerms("connection refused"));
  }

  @Test
  void parse_operators_bindAsUsual() {
    assertThat(TextQuery.parse("a OR b AND c"))
        .isEqualTo(new Or(List.of(A, new And(List.of(B, C)))));
    assertThat(TextQuery.parse("(a OR b) AND c"))
        .isEqualTo(new And(List.of(new Or(List.of(A, B)), C)));
    assertThat(TextQuery.parse("NOT a OR b")).isEqualTo(new Or(List.of(new Not(A), B)));
    assertThat(TextQuery.parse("a NOT b")).isEqualTo(new And(List.of(A, new Not(B))));
    assertThat(TextQuery.parse("NOT NOT a")).isEqualTo(new Not(new Not(A)));
    assertThat(TextQuery.parse("a (b)c")).isEqualTo(new And(List.of(A, B, C)));
    assertThat(TextQuery.parse("a(b)")).isEqualTo(new And(List.of(A, B)));
  }

  @Test
  void parse_wordsThatLookLikeOperators_areWords() {
    assertThat(TextQuery.parse("a or b and not c")).isEqualTo(new AllTerms("a or b and not c"));
    assertThat(TextQuery.parse("ORDER NOTE ANDROID")).isEqualTo(new AllTerms("ORDER NOTE ANDROID"));
    assertThat(TextQuery.parse("\"OR\"")).isEqualTo(new Phrase("OR"));
  }

  @Test
  void parse_phrase_keepsItsTextLiterally() {
    assertThat(TextQuery.parse("\"a  (b) OR\"")).isEqualTo(new Phrase("a  (b) OR"));
    assertThat(TextQuery.parse("\"say \\\"hi\\\" c:\\\\x \\n\""))
        .isEqualTo(new Phrase("say \"hi\" c:\\x \\n"));
    assertThat(TextQuery.parse("a \"b\" c")).isEqualTo(new And(List.of(A, new Phrase("b"), C)));
  }

  @Test
  void parse_syntaxError_reportsReasonAndPosition() {
    assertRejected("", "no search term at character 1");
    assertRejected("a OR", "no search term at character 5");
    assertRejected("OR a", "no search term at character 1");
    assertRejected("a AND OR b", "no search term at character 7");
    assertRejected("a NOT", "no search term at character 6");
    assertRejected("(a OR b", "no closing ) at character 8");
    assertRejected("()", "no search term at character 2");
    assertRejected("a) b", "an unmatched ) at character 2");
    assertRejected("a \"b", "a phrase without closing quote at character 3");
    assertRejected("\"" + "x".repeat(1025) + "\"", "a phrase that is too long at character 1");
    assertRejected("\"\"", "an empty phrase at character 1");
  }

  @Test
  void parse_hugeOrDeepQuery_isRejected() {
    assertRejected("a OR ".repeat(64) + "a", "more than 64 terms at character 321");
    assertRejected("(".repeat(100_000), "more than 64 terms at character 65");
    assertRejected("NOT ".repeat(100_000), "more than 64 terms at character 257");
  }

  private static void assertRejected(String text, String message) {
    assertThatThrownBy(() -> TextQuery.parse(text))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessage(message);
  }
}
