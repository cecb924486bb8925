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
 * @param skeleton the text with {@link #SLOT} for each slot
 * @param words the words of the slots; {@code null} where any word may stand
 * @param evidenceThresholds for each slot how many ordinary words must have been seen there to make
 *     it a value
 */
record MessageShape(String skeleton, @Nullable String[] words, int[] evidenceThresholds) {
  /** No character of any text: what decodes to it is replaced. */
  static final char SLOT = '\uFFFF';

  static final String PLACEHOLDER = "<*>";

  /** The evidence at which a slot becomes a value; a multiple of every need. */
  static final int FULL_EVIDENCE = 240;

  /*
   * Words that must have been seen in a slot before it is one for values, by what is before it. The
   * weaker the hint, the more it takes: among sixteen words in the middle of a sentence hardly any
   * two say different things, among four ("Started", "Stopped", "Paused", "Resumed") all do.
   */
  private static final int NAMED = 3;
  private static final int ASSIGNED = 4;
  private static final int HINTED = 6;
  private static final int FREE = 16;

  private static final String WORD_DELIMITERS = " \n=:,;()[]{}\"'<>|!?";

  /** What people and programs name; the next word is likely a name. */
  private static final Set<String> NAMING_WORDS =
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

  private static final Set<String> PREPOSITIONS =
      Set.of("for", "from", "by", "to", "at", "on", "via", "of", "in", "with", "as");

  static MessageShape of(String text) {
    List<String> tokens = tokens(text.replace(SLOT, '\uFFFD'));
    var skeleton = new StringBuilder(text.length());
    var words = new ArrayList<String>();
    var thresholds = new int[tokens.size()];
    String previousWord = ""; // the last word if it is of the frame and only a space ago
    boolean first = true;
    for (int i = 0; i < tokens.size(); i++) {
      String token = tokens.get(i);
      if (!isWord(token)) {
        skeleton.append(token);
        previousWord = token.equals(" ") ? previousWord : "";
      } else if (first || isFixed(tokens, i, NAMING_WORDS.contains(previousWord))) {
        skeleton.append(token);
        previousWord = NAMING_WORDS.contains(previousWord) ? "" : token;
        first = false;
      } else {
        thresholds[words.size()] = evidenceThreshold(tokens, i, previousWord);
        words.add(token);
        skeleton.append(SLOT);
        previousWord = "";
      }
    }
    return new MessageShape(
        skeleton.toString(), words.toArray(String[]::new), Arrays.copyOf(thresholds, words.size()));
  }

  /** Keys, the names of errors and the small words that tell what the next one is. */
  private static boolean isFixed(List<String> tokens, int i, boolean named) {
    String token = tokens.get(i);
    if (token.endsWith("Exception") || token.endsWith("Error")) {
      return true;
    }
    if (token.contains(PLACEHOLDER)) {
      return false;
    }
    String next = tokenAt(tokens, i + 1);
    return next.equals("=")
        || next.equals(":") && !isDotted(token)
        || next.equals("\"") && tokenAt(tokens, i + 2).equals(":")
        || !named && (NAMING_WORDS.contains(token) || PREPOSITIONS.contains(token));
  }

  private static int evidenceThreshold(List<String> tokens, int i, String previousWord) {
    String next = tokenAt(tokens, i + 1);
    return switch (tokenAt(tokens, i - 1)) {
      case "=" -> ASSIGNED;
      case "\"", "'" -> next.equals(tokenAt(tokens, i - 1)) ? NAMED : FREE;
      case "(", "[", "{" -> next.isEmpty() || ")]}".contains(next) ? HINTED : FREE;
      case ":" -> HINTED;
      case " " -> {
        if (NAMING_WORDS.contains(previousWord)) {
          yield NAMED;
        }
        if (PREPOSITIONS.contains(previousWord)) {
          yield HINTED;
        }
        yield tokenAt(tokens, i - 2).equals("=") ? ASSIGNED : FREE;
      }
      default -> FREE;
    };
  }

  private static String tokenAt(List<String> tokens, int i) {
    return i >= 0 && i < tokens.size() ? tokens.get(i) : "";
  }

  /** What the word of a slot counts for making it one of values, at most {@link #FULL_EVIDENCE}. */
  int evidence(int slot) {
    String word = words[slot];
    int ordinary = FULL_EVIDENCE / evidenceThresholds[slot];
    if (word == null) {
      return FULL_EVIDENCE;
    }
    if (word.equals(PLACEHOLDER)) {
      return FULL_EVIDENCE * 2 / 3;
    }
    if (isDotted(word)) {
      return FULL_EVIDENCE / 2;
    }
    if (word.contains(PLACEHOLDER)) {
      return Math.max(FULL_EVIDENCE / 3, ordinary);
    }
    if (word.endsWith("ed") || word.endsWith("ing")) {
      return FULL_EVIDENCE / FREE; // says what happened: "user created"
    }
    return isUpper(word) ? ordinary / 2 : ordinary; // states, methods, levels
  }

  /** Whether a word is a value by its looks: all of it was masked, or it is a dotted name. */
  static boolean isIdentifier(String word) {
    return word.equals(PLACEHOLDER) || isDotted(word);
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
    return token.contains(PLACEHOLDER) || token.chars().anyMatch(Character::isLetter);
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
      if (text.startsWith(PLACEHOLDER, i)) {
        i += PLACEHOLDER.length();
      } else if (WORD_DELIMITERS.indexOf(text.charAt(i)) >= 0) {
        return i;
      } else {
        i++;
      }
    }
    return i;
  }

  /** Whether every message of {@code other} is one of this template too; for the same frame. */
  boolean covers(MessageShape other) {
    for (int i = 0; i < words.length; i++) {
      if (words[i] != null && !words[i].equals(other.words[i])) {
        return false;
      }
    }
    return true;
  }

  /** Whether another shape of the frame can be near this one without being equal but for a word. */
  boolean hasValueSlot() {
    for (String word : words) {
      if (word == null || isIdentifier(word)) {
        return true;
      }
    }
    return false;
  }

  /** As it reads: what the identity of a template is made of. */
  String text() {
    var text = new StringBuilder(skeleton.length() + 8 * words.length);
    int slot = 0;
    for (int i = 0; i < skeleton.length(); i++) {
      char c = skeleton.charAt(i);
      if (c != SLOT) {
        text.append(c);
      } else {
        String word = words[slot++];
        text.append(word == null ? PLACEHOLDER : word);
      }
    }
    return text.toString();
  }
}
