package dev.sluice.core.query;

import java.util.ArrayList;
import java.util.List;

/**
 * What a body must say.
 *
 * <p>A word is a run of letters and digits; ASCII characters that are neither part words, as the
 * text index does. Case does not matter.
 */
public sealed interface TextQuery {

  /**
   * All words of the text, anywhere and in any order; a text without any word must be in the body
   * as it is.
   */
  record Words(String text) implements TextQuery {}

  /** The text as it is, not inside of longer words. */
  record Phrase(String text) implements TextQuery {}

  record And(List<TextQuery> all) implements TextQuery {
    public And {
      all = List.copyOf(all);
    }
  }

  record Or(List<TextQuery> any) implements TextQuery {
    public Or {
      any = List.copyOf(any);
    }
  }

  record Not(TextQuery that) implements TextQuery {}

  /** Characters of its words and phrases. */
  default int length() {
    return switch (this) {
      case Words(var text) -> text.length();
      case Phrase(var text) -> text.length();
      case And(var all) -> all.stream().mapToInt(TextQuery::length).sum();
      case Or(var any) -> any.stream().mapToInt(TextQuery::length).sum();
      case Not(var that) -> that.length();
    };
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
    return new Parser(text).parse();
  }

  /** Recursive descent; for one text. */
  final class Parser {
    private final String text;
    private int at;
    private int terms;

    private Parser(String text) {
      this.text = text;
    }

    private TextQuery parse() {
      var query = or();
      if (at < text.length()) {
        throw wrong("a ) too many");
      }
      return query;
    }

    private TextQuery or() {
      var any = new ArrayList<TextQuery>();
      do {
        any.add(and());
      } while (keyword("OR"));
      return any.size() == 1 ? any.getFirst() : new Or(any);
    }

    private TextQuery and() {
      var all = new ArrayList<TextQuery>();
      do {
        all.add(term());
      } while (keyword("AND") || more());
      return all.size() == 1 ? all.getFirst() : new And(all);
    }

    /** Whether another term follows without a word between. */
    private boolean more() {
      skipBlanks();
      return at < text.length() && text.charAt(at) != ')' && !isKeyword("OR");
    }

    private TextQuery term() {
      skipBlanks();
      if (++terms > MAX_TERMS) {
        throw wrong("more than " + MAX_TERMS + " terms");
      }
      if (at == text.length() || text.charAt(at) == ')' || isKeyword("OR") || isKeyword("AND")) {
        throw wrong("no word");
      }
      if (keyword("NOT")) {
        return new Not(term());
      }
      return switch (text.charAt(at)) {
        case '"' -> phrase();
        case '(' -> {
          at++;
          var inner = or();
          skipBlanks();
          if (at == text.length()) {
            throw wrong("no )");
          }
          at++;
          yield inner;
        }
        default -> words();
      };
    }

    private TextQuery phrase() {
      int start = at;
      var phrase = new StringBuilder();
      for (at++; at < text.length(); at++) {
        char c = text.charAt(at);
        if (c == '"') {
          at++;
          if (phrase.isEmpty()) {
            at = start;
            throw wrong("an empty phrase");
          }
          return new Phrase(phrase.toString());
        }
        if (c == '\\' && at + 1 < text.length() && "\"\\".indexOf(text.charAt(at + 1)) >= 0) {
          c = text.charAt(++at);
        }
        phrase.append(c);
      }
      at = start;
      throw wrong("a phrase that does not end");
    }

    /** Plain words up to the next thing that is none. */
    private TextQuery words() {
      var words = new StringBuilder();
      while (true) {
        int start = at;
        while (at < text.length() && !isBlank(text.charAt(at)) && text.charAt(at) != ')') {
          at++;
        }
        words.append(words.isEmpty() ? "" : " ").append(text, start, at);
        skipBlanks();
        if (at == text.length()
            || "\"()".indexOf(text.charAt(at)) >= 0
            || isKeyword("AND")
            || isKeyword("OR")
            || isKeyword("NOT")) {
          return new Words(words.toString());
        }
      }
    }

    private boolean keyword(String word) {
      skipBlanks();
      if (!isKeyword(word)) {
        return false;
      }
      at += word.length();
      return true;
    }

    private boolean isKeyword(String word) {
      int end = at + word.length();
      return text.startsWith(word, at)
          && (end == text.length()
              || isBlank(text.charAt(end))
              || "\"()".indexOf(text.charAt(end)) >= 0);
    }

    private void skipBlanks() {
      while (at < text.length() && isBlank(text.charAt(at))) {
        at++;
      }
    }

    private static boolean isBlank(char c) {
      return c == ' ' || c == '\t' || c == '\n' || c == '\r';
    }

    private IllegalArgumentException wrong(String what) {
      return new IllegalArgumentException(what + " at character " + (at + 1));
    }
  }
}
