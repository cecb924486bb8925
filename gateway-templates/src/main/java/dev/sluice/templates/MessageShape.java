package dev.sluice.templates;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The structure of a masked message or of a template: the fixed text (the skeleton) and the words
 * that may turn out to be values (the slots). Immutable, except while {@link TemplateMiner#load}
 * builds it.
 *
 * <p>Shapes with different skeletons never share a template. The text alone determines which words
 * are slots, how much evidence makes a slot a value slot, and how much evidence a word is.
 * Therefore all instances agree at any time, also after other slots have become value slots.
 *
 * @param skeleton the text with {@link #SLOT} in place of each slot
 * @param words the words of the slots; {@code null} for a value slot, where any word matches
 * @param evidenceThresholds for each slot, the number of ordinary words that make it a value slot
 */
record MessageShape(String skeleton, @Nullable String[] words, int[] evidenceThresholds) {
  /** The slot marker, a noncharacter; {@link #of} replaces its occurrences in a text. */
  static final char SLOT = '\uFFFF';

  static final String PLACEHOLDER = "<*>";

  /** The evidence at which a slot becomes a value slot; a multiple of every threshold. */
  static final int FULL_EVIDENCE = 240;

  /*
   * Thresholds: the number of different words in a slot that make it a value slot, by the text
   * before it. A weaker hint needs more words: four different words in a sentence may have four
   * meanings ("Started", "Stopped", "Paused", "Resumed"), while sixteen are most likely values.
   */
  private static final int NAMED = 3;
  private static final int ASSIGNED = 4;
  private static final int HINTED = 6;
  private static final int FREE = 16;

  private static final String WORD_DELIMITERS = " \n=:,;()[]{}\"'<>|!?";

  /** Nouns for named things; the next word is likely a name. */
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
    String previousWord = ""; // the last word, if it is fixed and a single space follows
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

  /** Whether a word is fixed: a key, an exception name, or a word that hints at the next one. */
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

  /** Returns the evidence of a slot's word for a value slot, at most {@link #FULL_EVIDENCE}. */
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
      return FULL_EVIDENCE / FREE; // likely a verb: "user created"
    }
    return isUpper(word) ? ordinary / 2 : ordinary; // states, methods, levels
  }

  /** Whether a word is a value by its form: it was masked completely, or is a dotted name. */
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

  /** Splits a text into words and single characters between words; they concatenate to the text. */
  private static List<String> tokens(String text) {
    var tokens = new ArrayList<String>();
    int i = 0;
    while (i < text.length()) {
      int end = wordEnd(text, i);
      int stop = end;
      while (end > i + 1 && text.charAt(end - 1) == '.') {
        end--; // the full stop of a sentence does not belong to its last word
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

  /**
   * Whether this template matches every message that {@code other} matches.
   *
   * @param other a shape with the same skeleton
   */
  boolean covers(MessageShape other) {
    for (int i = 0; i < words.length; i++) {
      if (words[i] != null && !words[i].equals(other.words[i])) {
        return false;
      }
    }
    return true;
  }

  /** Whether a slot can match different words: it is a value slot or has an identifier. */
  boolean hasValueSlot() {
    for (String word : words) {
      if (word == null || isIdentifier(word)) {
        return true;
      }
    }
    return false;
  }

  /** Returns the text, from which the id of the template is computed. */
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
