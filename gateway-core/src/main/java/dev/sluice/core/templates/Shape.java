package dev.sluice.core.templates;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A masked message, or a template, taken apart: what always stays (its frame) and the words that
 * may turn out to be values (its slots). Never changed once made.
 *
 * <p>Shapes of different frames never share a template. Which words are slots, how much evidence
 * makes one a value and how much a word counts as such evidence follow from the text alone, so that
 * every instance sees the same at any time; and they stay the same when other slots become values.
 *
 * @param frame the text with {@link #HOLE} for each slot
 * @param words the words of the slots; {@code null} where any word may stand
 * @param needs for each slot how many ordinary words must have been seen there to make it a value
 */
record Shape(String frame, @Nullable String[] words, int[] needs) {
  /** No character of any text: what decodes to it is replaced. */
  static final char HOLE = '\uFFFF';

  static final String VALUE = "<*>";

  /** The evidence at which a slot becomes a value; a multiple of every need. */
  static final int ENOUGH = 240;

  /*
   * Words that must have been seen in a slot before it is one for values, by what is before it. The
   * weaker the hint, the more it takes: among sixteen words in the middle of a sentence hardly any
   * two say different things, among four ("Started", "Stopped", "Paused", "Resumed") all do.
   */
  private static final int NAMED = 3;
  private static final int ASSIGNED = 4;
  private static final int HINTED = 6;
  private static final int FREE = 16;

  private static final String ENDS = " \n=:,;()[]{}\"'<>|!?";

  /** What people and programs name; the next word is likely a name. */
  private static final Set<String> NAMING =
      Set.of(
          "user",
          "User",
          "username",
          "account",
          "login",
          "host",
          "hostname",
          "node",
          "program",
          "pod",
          "topic",
          "queue",
          "table",
          "bucket",
          "namespace",
          "tenant",
          "database",
          "index");

  private static final Set<String> LEADING =
      Set.of("for", "from", "by", "to", "at", "on", "via", "of", "in", "with", "as");

  static Shape of(String text) {
    List<String> tokens = tokens(text.replace(HOLE, '\uFFFD'));
    var frame = new StringBuilder(text.length());
    var words = new ArrayList<String>();
    var needs = new int[tokens.size()];
    String before = ""; // the last word if it is of the frame and only a space ago
    boolean first = true;
    for (int i = 0; i < tokens.size(); i++) {
      String token = tokens.get(i);
      if (!isWord(token)) {
        frame.append(token);
        before = token.equals(" ") ? before : "";
      } else if (first || staysPut(tokens, i, NAMING.contains(before))) {
        frame.append(token);
        before = NAMING.contains(before) ? "" : token;
        first = false;
      } else {
        needs[words.size()] = need(tokens, i, before);
        words.add(token);
        frame.append(HOLE);
        before = "";
      }
    }
    return new Shape(
        frame.toString(), words.toArray(String[]::new), Arrays.copyOf(needs, words.size()));
  }

  /** Keys, the names of errors and the small words that tell what the next one is. */
  private static boolean staysPut(List<String> tokens, int i, boolean named) {
    String token = tokens.get(i);
    if (token.endsWith("Exception") || token.endsWith("Error")) {
      return true;
    }
    if (token.contains(VALUE)) {
      return false;
    }
    String next = at(tokens, i + 1);
    return next.equals("=")
        || next.equals(":") && !isDotted(token)
        || next.equals("\"") && at(tokens, i + 2).equals(":")
        || !named && (NAMING.contains(token) || LEADING.contains(token));
  }

  private static int need(List<String> tokens, int i, String before) {
    String next = at(tokens, i + 1);
    return switch (at(tokens, i - 1)) {
      case "=" -> ASSIGNED;
      case "\"", "'" -> next.equals(at(tokens, i - 1)) ? NAMED : FREE;
      case "(", "[", "{" -> next.isEmpty() || ")]}".contains(next) ? HINTED : FREE;
      case ":" -> HINTED;
      case " " -> {
        if (NAMING.contains(before)) {
          yield NAMED;
        }
        if (LEADING.contains(before)) {
          yield HINTED;
        }
        yield at(tokens, i - 2).equals("=") ? ASSIGNED : FREE;
      }
      default -> FREE;
    };
  }

  private static String at(List<String> tokens, int i) {
    return i >= 0 && i < tokens.size() ? tokens.get(i) : "";
  }

  /** What the word of a slot counts for making it one of values, at most {@link #ENOUGH}. */
  int evidence(int slot) {
    String word = words[slot];
    int ordinary = ENOUGH / needs[slot];
    if (word == null) {
      return ENOUGH;
    }
    if (word.equals(VALUE)) {
      return ENOUGH * 2 / 3;
    }
    if (isDotted(word)) {
      return ENOUGH / 2;
    }
    if (word.contains(VALUE)) {
      return Math.max(ENOUGH / 3, ordinary);
    }
    if (word.endsWith("ed") || word.endsWith("ing")) {
      return ENOUGH / FREE; // says what happened: "user created"
    }
    return isUpper(word) ? ordinary / 2 : ordinary; // states, methods, levels
  }

  /** Whether a word is a value by its looks: all of it was masked, or it is a dotted name. */
  static boolean isIdentifier(String word) {
    return word.equals(VALUE) || isDotted(word);
  }

  private static boolean isDotted(String word) {
    int dot = word.indexOf('.', 1);
    return dot > 0
        && dot < word.length() - 1
        && Character.isLetter(word.charAt(dot - 1))
        && Character.isLetter(word.charAt(dot + 1));
  }

  private static boolean isUpper(String word) {
    return word.length() > 1
        && word.chars().noneMatch(Character::isLowerCase)
        && word.chars().anyMatch(Character::isUpperCase);
  }

  private static boolean isWord(String token) {
    return token.contains(VALUE) || token.chars().anyMatch(Character::isLetter);
  }

  /** Words, and what is between them character by character; together they are the text. */
  private static List<String> tokens(String text) {
    var tokens = new ArrayList<String>();
    int i = 0;
    while (i < text.length()) {
      int end = wordEnd(text, i);
      int stop = end;
      while (end > i + 1 && text.charAt(end - 1) == '.') {
        end--; // the end of a sentence is not of its last word
      }
      if (end > i) {
        tokens.add(text.substring(i, end));
      }
      for (; end < stop; end++) {
        tokens.add(".");
      }
      i = stop;
      if (i < text.length()) {
        tokens.add(text.substring(i, i + 1));
        i++;
      }
    }
    return tokens;
  }

  private static int wordEnd(String text, int from) {
    int i = from;
    while (i < text.length()) {
      if (text.startsWith(VALUE, i)) {
        i += VALUE.length();
      } else if (ENDS.indexOf(text.charAt(i)) >= 0) {
        return i;
      } else {
        i++;
      }
    }
    return i;
  }

  /** Whether every message of {@code other} is one of this template too; for the same frame. */
  boolean covers(Shape other) {
    for (int i = 0; i < words.length; i++) {
      if (words[i] != null && !words[i].equals(other.words[i])) {
        return false;
      }
    }
    return true;
  }

  /** Whether another shape of the frame can be near this one without being equal but for a word. */
  boolean isLoose() {
    for (String word : words) {
      if (word == null || isIdentifier(word)) {
        return true;
      }
    }
    return false;
  }

  /** As it reads: what the identity of a template is made of. */
  String text() {
    var text = new StringBuilder(frame.length() + 8 * words.length);
    int slot = 0;
    for (int i = 0; i < frame.length(); i++) {
      char c = frame.charAt(i);
      if (c != HOLE) {
        text.append(c);
      } else {
        String word = words[slot++];
        text.append(word == null ? VALUE : word);
      }
    }
    return text.toString();
  }
}
