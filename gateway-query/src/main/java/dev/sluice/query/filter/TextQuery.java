package dev.sluice.query.filter;

import java.util.List;

/**
 * A condition on the body of a log record.
 *
 * <p>A term is a run of characters without an ASCII character that is neither letter nor digit, as
 * in the text index of the store: every character beyond ASCII is part of a term. Comparisons
 * ignore case.
 */
public sealed interface TextQuery {

  /**
   * Matches a body that contains all terms of the text, anywhere and in any order. A text without
   * any term must occur in the body literally.
   */
  record AllTerms(String text) implements TextQuery {}

  /** Matches a body that contains the text literally, but not inside a longer term. */
  record Phrase(String text) implements TextQuery {
    /** Maximum number of characters of a phrase. */
    public static final int MAX_LENGTH = 1024;

    public Phrase {
      if (text.isEmpty() || text.length() > MAX_LENGTH) {
        throw new IllegalArgumentException(
            "a phrase of %d characters, allowed are 1 to %d".formatted(text.length(), MAX_LENGTH));
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

  /** Returns the number of characters of all terms and phrases. */
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
      throw new IllegalArgumentException("a query without operands");
    }
  }

  /**
   * Maximum number of terms in one query, including parentheses and negations, so that it also
   * bounds their nesting.
   */
  int MAX_TERMS = 64;

  /**
   * Parses the query language of the API: terms, {@code "phrases"} (with {@code \"} and {@code \\}
   * as escapes), the operators {@code AND}, {@code OR}, {@code NOT} in capitals, and parentheses.
   * {@code NOT} has the highest precedence, {@code OR} the lowest; adjacent terms are combined with
   * {@code AND}.
   *
   * @throws IllegalArgumentException when the text is not a valid query; the message is a noun
   *     phrase with the error and its position
   */
  static TextQuery parse(String text) {
    return new TextQueryParser(text).parse();
  }
}
