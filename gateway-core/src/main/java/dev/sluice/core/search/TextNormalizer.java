package dev.sluice.core.search;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;

/** How names and templates read as plain words. */
final class TextNormalizer {
  private static final Pattern CAMEL_CASE = Pattern.compile("(?<=[a-z0-9])(?=[A-Z])");
  private static final Pattern ACRONYM = Pattern.compile("(?<=[A-Z])(?=[A-Z][a-z])");
  private static final Pattern PUNCTUATION = Pattern.compile("[-_./:=(){}\\[\\]$#*,;\"'<>|@!?]+");
  private static final Pattern SPACE = Pattern.compile("\\s+");
  private static final Pattern NON_WORD = Pattern.compile("[^\\p{L}\\p{N}]+");

  /** What numbers loggers put before a name: a process, an address, a place in the source. */
  private static final Pattern LEADING_NUMBERS = Pattern.compile("^[0-9.:/]+");

  /** Of English, so common that they tell nothing of what is looked for. */
  private static final Set<String> STOP_WORDS =
      Set.of(
          "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "has", "in", "is", "it",
          "its", "of", "on", "or", "that", "the", "to", "was", "were", "will", "with");

  /** Marks of the sentence around a term. */
  private static final Pattern EDGE_PUNCTUATION =
      Pattern.compile("^[^\\p{L}\\p{N}/]+|[^\\p{L}\\p{N}]+$");

  private static final Pattern VALUE = Pattern.compile("\\p{N}|[_@/:=\\\\]|\\p{L}\\.\\p{L}");

  /** Its name may be written otherwise in a log; that of a short one is needed to tell it. */
  private static final Pattern KEY_VALUE =
      Pattern.compile("[\\p{L}\\p{N}_.-]+=[^\\p{L}\\p{N}/]*([\\p{L}\\p{N}/][^=]{2,})");

  /** What is to be found just so. */
  private static final Pattern QUOTED = Pattern.compile("\"([^\"]*)\"");

  /** Beyond them a question is a text, of which not every word is in what it is about. */
  private static final int MAX_WORDS = 32;

  private static final int MIN_VALUE_LENGTH = 3;
  private static final int MAX_VALUES = 8;

  private TextNormalizer() {}

  /** Without the places of values. */
  static String withoutValues(String template) {
    return SPACE.matcher(template.replace("<*>", " ")).replaceAll(" ").strip();
  }

  /** Identifiers taken apart, no marks, in lower case: {@code NoRouteToHost} is four words. */
  static String toPlainWords(String text) {
    var split = ACRONYM.matcher(CAMEL_CASE.matcher(text).replaceAll(" ")).replaceAll(" ");
    return SPACE
        .matcher(PUNCTUATION.matcher(split).replaceAll(" "))
        .replaceAll(" ")
        .strip()
        .toLowerCase(Locale.ROOT);
  }

  /** The last part of a logger's name, as words; may be empty. */
  static String component(String name) {
    var bare = LEADING_NUMBERS.matcher(name).replaceFirst("");
    return toPlainWords(bare.substring(bare.lastIndexOf('.') + 1));
  }

  /** Letters and digits between anything else, in lower case, each once; stop words too. */
  static Set<String> words(String text) {
    var words = new LinkedHashSet<String>();
    for (var word : NON_WORD.split(text.toLowerCase(Locale.ROOT), -1)) {
      if (!word.isEmpty()) {
        words.add(word);
      }
    }
    return words;
  }

  /** The words of a question that tell something; all of them when none does. The first of them. */
  static List<String> significantWords(String question) {
    var words = words(question);
    var significant =
        words.stream().filter(word -> !STOP_WORDS.contains(word)).limit(MAX_WORDS).toList();
    return significant.isEmpty() ? words.stream().limit(MAX_WORDS).toList() : significant;
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
      var bare = EDGE_PUNCTUATION.matcher(term).replaceAll("");
      var named = KEY_VALUE.matcher(bare);
      if (named.matches()) {
        values.add(named.group(1));
      } else if (bare.length() >= MIN_VALUE_LENGTH && VALUE.matcher(bare).find()) {
        values.add(bare);
      }
    }
    return values.stream().limit(MAX_VALUES).toList();
  }
}
