package dev.sluice.core.search;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;

/** How names and templates read as plain words. */
final class Wording {
  private static final Pattern HUMP = Pattern.compile("(?<=[a-z0-9])(?=[A-Z])");
  private static final Pattern ACRONYM = Pattern.compile("(?<=[A-Z])(?=[A-Z][a-z])");
  private static final Pattern MARKS = Pattern.compile("[-_./:=(){}\\[\\]$#*,;\"'<>|@!?]+");
  private static final Pattern SPACE = Pattern.compile("\\s+");
  private static final Pattern NO_WORD = Pattern.compile("[^\\p{L}\\p{N}]+");

  /** What numbers loggers put before a name: a process, an address, a place in the source. */
  private static final Pattern NUMBERS_BEFORE = Pattern.compile("^[0-9.:/]+");

  /** Of English, so common that they tell nothing of what is looked for. */
  private static final Set<String> STOP_WORDS =
      Set.of(
          "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "has", "in", "is", "it",
          "its", "of", "on", "or", "that", "the", "to", "was", "were", "will", "with");

  /** Marks of the sentence around a term. */
  private static final Pattern EDGES = Pattern.compile("^[^\\p{L}\\p{N}/]+|[^\\p{L}\\p{N}]+$");

  private static final Pattern VALUE = Pattern.compile("\\p{N}|[_@/:=\\\\]|\\p{L}\\.\\p{L}");

  /** Its name may be written otherwise in a log; that of a short one is needed to tell it. */
  private static final Pattern NAMED =
      Pattern.compile("[\\p{L}\\p{N}_.-]+=[^\\p{L}\\p{N}/]*([\\p{L}\\p{N}/][^=]{2,})");

  /** What is to be found just so. */
  private static final Pattern QUOTED = Pattern.compile("\"([^\"]*)\"");

  /** Beyond them a question is a text, of which not every word is in what it is about. */
  private static final int MOST_WORDS = 32;

  private static final int SHORTEST_VALUE = 3;
  private static final int MOST_VALUES = 8;

  private Wording() {}

  /** Without the places of values. */
  static String withoutValues(String template) {
    return SPACE.matcher(template.replace("<*>", " ")).replaceAll(" ").strip();
  }

  /** Identifiers taken apart, no marks, in lower case: {@code NoRouteToHost} is four words. */
  static String plain(String text) {
    var apart = ACRONYM.matcher(HUMP.matcher(text).replaceAll(" ")).replaceAll(" ");
    return SPACE
        .matcher(MARKS.matcher(apart).replaceAll(" "))
        .replaceAll(" ")
        .strip()
        .toLowerCase(Locale.ROOT);
  }

  /** The last part of a logger's name, as words; may be empty. */
  static String component(String name) {
    var bare = NUMBERS_BEFORE.matcher(name).replaceFirst("");
    return plain(bare.substring(bare.lastIndexOf('.') + 1));
  }

  /** Letters and digits between anything else, in lower case, each once; stop words too. */
  static Set<String> words(String text) {
    var words = new LinkedHashSet<String>();
    for (var word : NO_WORD.split(text.toLowerCase(Locale.ROOT), -1)) {
      if (!word.isEmpty()) {
        words.add(word);
      }
    }
    return words;
  }

  /** The words of a question that tell something; all of them when none does. The first of them. */
  static List<String> telling(String question) {
    var words = words(question);
    var telling =
        words.stream().filter(word -> !STOP_WORDS.contains(word)).limit(MOST_WORDS).toList();
    return telling.isEmpty() ? words.stream().limit(MOST_WORDS).toList() : telling;
  }

  /**
   * What of a question is no word of any language but a value that is to be found as it is: an
   * identifier, an address, a code. It is in quotation marks, has a digit in it, is written as
   * names are, or has its name before it, as in {@code user=root}.
   */
  static List<String> values(String question) {
    var values = new LinkedHashSet<String>();
    var rest =
        QUOTED
            .matcher(question)
            .replaceAll(
                quoted -> {
                  if (!words(quoted.group(1)).isEmpty()) {
                    values.add(quoted.group(1).strip());
                  }
                  return " ";
                });
    for (var term : SPACE.split(rest, -1)) {
      var bare = EDGES.matcher(term).replaceAll("");
      var named = NAMED.matcher(bare);
      if (named.matches()) {
        values.add(named.group(1));
      } else if (bare.length() >= SHORTEST_VALUE && VALUE.matcher(bare).find()) {
        values.add(bare);
      }
    }
    return values.stream().limit(MOST_VALUES).toList();
  }
}
