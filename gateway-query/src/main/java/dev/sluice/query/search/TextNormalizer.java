package dev.sluice.query.search;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;

/** Converts names, templates and queries to plain words, and finds literal values in queries. */
final class TextNormalizer {
  private static final Pattern CAMEL_CASE = Pattern.compile("(?<=[a-z0-9])(?=[A-Z])");
  private static final Pattern ACRONYM = Pattern.compile("(?<=[A-Z])(?=[A-Z][a-z])");
  private static final Pattern PUNCTUATION = Pattern.compile("[-_./:=(){}\\[\\]$#*,;\"'<>|@!?]+");
  private static final Pattern SPACE = Pattern.compile("\\s+");
  private static final Pattern NON_WORD = Pattern.compile("[^\\p{L}\\p{N}]+");

  /** Numbers that loggers write before a name: a process id, an address, a line number. */
  private static final Pattern LEADING_NUMBERS = Pattern.compile("^[0-9.:/]+");

  /** English words that are too common to select a template. */
  private static final Set<String> STOP_WORDS =
      Set.of(
          "a", "an", "and", "are", "as", "at", "be", "by", "for", "from", "has", "in", "is", "it",
          "its", "of", "on", "or", "that", "the", "to", "was", "were", "will", "with");

  /** Punctuation around a term in a sentence. */
  private static final Pattern EDGE_PUNCTUATION =
      Pattern.compile("^[^\\p{L}\\p{N}/]+|[^\\p{L}\\p{N}]+$");

  private static final Pattern VALUE = Pattern.compile("\\p{N}|[_@/:=\\\\]|\\p{L}\\.\\p{L}");

  /**
   * A key and a value of at least three characters. Only the value is searched, since a record may
   * write the key differently; a shorter value is searched with its key, since it is not specific
   * enough alone.
   */
  private static final Pattern KEY_VALUE =
      Pattern.compile("[\\p{L}\\p{N}_.-]+=[^\\p{L}\\p{N}/]*([\\p{L}\\p{N}/][^=]{2,})");

  /** A quoted part of a query, which is searched literally. */
  private static final Pattern QUOTED = Pattern.compile("\"([^\"]*)\"");

  /** Maximum number of words of a query; no template contains every word of a longer text. */
  private static final int MAX_WORDS = 32;

  private static final int MIN_VALUE_LENGTH = 3;
  private static final int MAX_VALUES = 8;

  private TextNormalizer() {}

  /** Returns the template without the placeholders of its variable parts. */
  static String withoutValues(String template) {
    return SPACE.matcher(template.replace("<*>", " ")).replaceAll(" ").strip();
  }

  /**
   * Returns the words of a text in lower case, without punctuation, with identifiers split: {@code
   * NoRouteToHost} becomes four words.
   */
  static String toPlainWords(String text) {
    var split = ACRONYM.matcher(CAMEL_CASE.matcher(text).replaceAll(" ")).replaceAll(" ");
    return SPACE
        .matcher(PUNCTUATION.matcher(split).replaceAll(" "))
        .replaceAll(" ")
        .strip()
        .toLowerCase(Locale.ROOT);
  }

  /** Returns the last part of a logger's name as plain words; may be empty. */
  static String component(String name) {
    var unnumbered = LEADING_NUMBERS.matcher(name).replaceFirst("");
    return toPlainWords(unnumbered.substring(unnumbered.lastIndexOf('.') + 1));
  }

  /**
   * Returns the distinct runs of letters and digits in a text, in lower case, including stop words.
   */
  static Set<String> words(String text) {
    var words = new LinkedHashSet<String>();
    for (var word : NON_WORD.split(text.toLowerCase(Locale.ROOT), -1)) {
      if (!word.isEmpty()) {
        words.add(word);
      }
    }
    return words;
  }

  /**
   * Returns the first {@value #MAX_WORDS} words of a query that are not stop words; if all are stop
   * words, the first words.
   */
  static List<String> significantWords(String query) {
    var words = words(query);
    var significant =
        words.stream().filter(word -> !STOP_WORDS.contains(word)).limit(MAX_WORDS).toList();
    return significant.isEmpty() ? words.stream().limit(MAX_WORDS).toList() : significant;
  }

  /**
   * Returns the terms of a query that are literal values rather than words of a language, such as
   * an identifier, an address or a code. A value is in quotation marks, contains a digit, is
   * written like a name with punctuation, or follows its key, as in {@code user=root}.
   */
  static List<String> values(String query) {
    var values = new LinkedHashSet<String>();
    var rest =
        QUOTED
            .matcher(query)
            .replaceAll(
                quoted -> {
                  if (!words(quoted.group(1)).isEmpty()) {
                    values.add(quoted.group(1).strip());
                  }
                  return " ";
                });
    for (var term : SPACE.split(rest, -1)) {
      var trimmed = EDGE_PUNCTUATION.matcher(term).replaceAll("");
      var keyValue = KEY_VALUE.matcher(trimmed);
      if (keyValue.matches()) {
        values.add(keyValue.group(1));
      } else if (trimmed.length() >= MIN_VALUE_LENGTH && VALUE.matcher(trimmed).find()) {
        values.add(trimmed);
      }
    }
    return values.stream().limit(MAX_VALUES).toList();
  }
}
