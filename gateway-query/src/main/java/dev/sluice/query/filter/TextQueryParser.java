package dev.sluice.query.filter;

import java.util.ArrayList;

/** A recursive-descent parser for {@link TextQuery#parse}; an instance parses one text. */
final class TextQueryParser {
  private final String text;
  private int position;
  private int terms;

  TextQueryParser(String text) {
    this.text = text;
  }

  TextQuery parse() {
    var query = or();
    if (position < text.length()) {
      throw syntaxError("an unmatched )");
    }
    return query;
  }

  private TextQuery or() {
    var any = new ArrayList<TextQuery>();
    do {
      any.add(and());
    } while (acceptKeyword("OR"));
    return any.size() == 1 ? any.getFirst() : new TextQuery.Or(any);
  }

  private TextQuery and() {
    var all = new ArrayList<TextQuery>();
    do {
      all.add(term());
    } while (acceptKeyword("AND") || isTermNext());
    return all.size() == 1 ? all.getFirst() : new TextQuery.And(all);
  }

  /** Whether another term follows without an operator. */
  private boolean isTermNext() {
    skipBlanks();
    return position < text.length() && text.charAt(position) != ')' && !isKeyword("OR");
  }

  private TextQuery term() {
    skipBlanks();
    if (++terms > TextQuery.MAX_TERMS) {
      throw syntaxError("more than " + TextQuery.MAX_TERMS + " terms");
    }
    if (position == text.length()
        || text.charAt(position) == ')'
        || isKeyword("OR")
        || isKeyword("AND")) {
      throw syntaxError("no search term");
    }
    if (acceptKeyword("NOT")) {
      return new TextQuery.Not(term());
    }
    return switch (text.charAt(position)) {
      case '"' -> phrase();
      case '(' -> {
        position++;
        var inner = or();
        skipBlanks();
        if (position == text.length()) {
          throw syntaxError("no closing )");
        }
        position++;
        yield inner;
      }
      default -> words();
    };
  }

  private TextQuery phrase() {
    int start = position;
    var phrase = new StringBuilder();
    for (position++; position < text.length(); position++) {
      char c = text.charAt(position);
      if (c == '"') {
        position++;
        if (phrase.isEmpty() || phrase.length() > TextQuery.Phrase.MAX_LENGTH) {
          position = start;
          throw syntaxError(phrase.isEmpty() ? "an empty phrase" : "a phrase that is too long");
        }
        return new TextQuery.Phrase(phrase.toString());
      }
      if (c == '\\'
          && position + 1 < text.length()
          && "\"\\".indexOf(text.charAt(position + 1)) >= 0) {
        c = text.charAt(++position);
      }
      phrase.append(c);
    }
    position = start;
    throw syntaxError("a phrase without closing quote");
  }

  /** Reads plain terms up to the next phrase, parenthesis or operator. */
  private TextQuery words() {
    var words = new StringBuilder();
    while (true) {
      int start = position;
      while (position < text.length()
          && !isBlank(text.charAt(position))
          && "()".indexOf(text.charAt(position)) < 0) {
        position++;
      }
      words.append(words.isEmpty() ? "" : " ").append(text, start, position);
      skipBlanks();
      if (position == text.length()
          || "\"()".indexOf(text.charAt(position)) >= 0
          || isKeyword("AND")
          || isKeyword("OR")
          || isKeyword("NOT")) {
        return new TextQuery.AllTerms(words.toString());
      }
    }
  }

  private boolean acceptKeyword(String word) {
    skipBlanks();
    if (!isKeyword(word)) {
      return false;
    }
    position += word.length();
    return true;
  }

  private boolean isKeyword(String word) {
    int end = position + word.length();
    return text.startsWith(word, position)
        && (end == text.length()
            || isBlank(text.charAt(end))
            || "\"()".indexOf(text.charAt(end)) >= 0);
  }

  private void skipBlanks() {
    while (position < text.length() && isBlank(text.charAt(position))) {
      position++;
    }
  }

  private static boolean isBlank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
  }

  private IllegalArgumentException syntaxError(String error) {
    return new IllegalArgumentException(error + " at character " + (position + 1));
  }
}
