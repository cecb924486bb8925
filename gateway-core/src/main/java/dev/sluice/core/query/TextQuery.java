package dev.sluice.core.query;

import java.util.List;

/**
 * What a body must say.
 *
 * <p>A word is what lies between ASCII characters that are neither letters nor digits, as the text
 * index has it: every character beyond ASCII is part of one. Case does not matter.
 */
public sealed interface TextQuery {

  /**
   * All words of the text, anywhere and in any order; a text without any word must be in the body
   * as it is.
   */
  record AllTerms(String text) implements TextQuery {}

  /** The text as it is, not inside of longer words. */
  record Phrase(String text) implements TextQuery {
    /** Characters; what is longer is a document and no phrase. */
    public static final int MAX_LENGTH = 1024;

    public Phrase {
      if (text.isEmpty() || text.length() > MAX_LENGTH) {
        throw new IllegalArgumentException(
            "a phrase of %d characters, 1 to %d are allowed".formatted(text.length(), MAX_LENGTH));
      }
    }
  }

  record And(List<TextQuery> all) implements TextQuery {
    public And {
      all = List.copyOf(all);
      requireNonEmpty(all);
    }
  }

  record Or(List<TextQuery> any) implements TextQuery {
    public Or {
      any = List.copyOf(any);
      requireNonEmpty(any);
    }
  }

  record Not(TextQuery negated) implements TextQuery {}

  /** Characters of its words and phrases. */
  default int length() {
    return switch (this) {
      case AllTerms(var text) -> text.length();
      case Phrase(var text) -> text.length();
      case And(var all) -> all.stream().mapToInt(TextQuery::length).sum();
      case Or(var any) -> any.stream().mapToInt(TextQuery::length).sum();
      case Not(var negated) -> negated.length();
    };
  }

  private static void requireNonEmpty(List<TextQuery> queries) {
    if (queries.isEmpty()) {
      throw new IllegalArgumentException("nothing to combine");
    }
  }

  /** Terms in one query, parentheses and negations counted: it bounds their nesting too. */
  int MAX_TERMS = 64;

  /**
   * Reads a query as a person types it: words, {@code "phrases"} (with {@code \"} and {@code \\}),
   * {@code AND}, {@code OR}, {@code NOT} in capitals and parentheses. {@code NOT} binds closest,
   * {@code OR} least; what stands side by side must all hold.
   *
   * @throws IllegalArgumentException with what is wrong and where, when it is no query
   */
  static TextQuery parse(String text) {
    return new TextQueryParser(text).parse();
  }
}
