package dev.sluice.core.query;

import java.util.ArrayList;

/** {@link TextQuery#parse} by recursive descent; for one text. */
final class TextQueryParser {
  private final String text;
  private int at;
  private int terms;

  TextQueryParser(String text) {
    this.text = text;
  }

  TextQuery parse() {
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
    return any.size() == 1 ? any.getFirst() : new TextQuery.Or(any);
  }

  private TextQuery and() {
    var all = new ArrayList<TextQuery>();
    do {
      all.add(term());
    } while (keyword("AND") || more());
    return all.size() == 1 ? all.getFirst() : new TextQuery.And(all);
  }

  /** Whether another term follows without a word between. */
  private boolean more() {
    skipBlanks();
    return at < text.length() && text.charAt(at) != ')' && !isKeyword("OR");
  }

  private TextQuery term() {
    skipBlanks();
    if (++terms > TextQuery.MAX_TERMS) {
      throw wrong("more than " + TextQuery.MAX_TERMS + " terms");
    }
    if (at == text.length() || text.charAt(at) == ')' || isKeyword("OR") || isKeyword("AND")) {
      throw wrong("no word");
    }
    if (keyword("NOT")) {
      return new TextQuery.Not(term());
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
        if (phrase.isEmpty() || phrase.length() > TextQuery.Phrase.MAX_LENGTH) {
          at = start;
          throw wrong(phrase.isEmpty() ? "an empty phrase" : "a phrase that is too long");
        }
        return new TextQuery.Phrase(phrase.toString());
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
      while (at < text.length() && !isBlank(text.charAt(at)) && "()".indexOf(text.charAt(at)) < 0) {
        at++;
      }
      words.append(words.isEmpty() ? "" : " ").append(text, start, at);
      skipBlanks();
      if (at == text.length()
          || "\"()".indexOf(text.charAt(at)) >= 0
          || isKeyword("AND")
          || isKeyword("OR")
          || isKeyword("NOT")) {
        return new TextQuery.Words(words.toString());
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
