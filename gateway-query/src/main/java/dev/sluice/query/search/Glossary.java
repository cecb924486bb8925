package dev.sluice.query.search;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Maps technical terms to their meaning in everyday words: a query for machines that ran out of
 * memory may not contain {@code oom}. To keep the search evaluation valid, entries are written
 * without knowledge of its queries and templates; see {@code docs/search.md}.
 *
 * <p>Immutable.
 */
final class Glossary {
  /** Maximum number of meanings of a text; more meanings would outweigh the text itself. */
  private static final int MAX_MEANINGS = 6;

  private static final String RESOURCE = "glossary.tsv";

  private final Map<String, String> meanings;
  private final int maxWordsPerKey;

  private Glossary(Map<String, String> meanings) {
    this.meanings = Map.copyOf(meanings);
    maxWordsPerKey =
        meanings.keySet().stream()
                .mapToInt(key -> (int) key.chars().filter(c -> c == ' ').count())
                .max()
                .orElse(0)
            + 1;
  }

  /** Returns the glossary in the jar. */
  static Glossary bundled() {
    try (var in = Glossary.class.getResourceAsStream(RESOURCE)) {
      if (in == null) {
        throw new IllegalStateException("glossary missing in the jar: " + RESOURCE);
      }
      return of(new String(in.readAllBytes(), UTF_8));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * Parses a glossary.
   *
   * @param lines entries of words, a tab and the meaning; lines that begin with {@code #} are
   *     comments
   */
  static Glossary of(String lines) {
    var meanings = new HashMap<String, String>();
    lines
        .lines()
        .filter(line -> !line.isBlank() && !line.startsWith("#"))
        .forEach(
            line -> {
              int tab = line.indexOf('\t');
              if (tab < 1
                  || meanings.put(line.substring(0, tab), line.substring(tab + 1)) != null) {
                throw new IllegalArgumentException("invalid or duplicate glossary entry: " + line);
              }
            });
    return new Glossary(meanings);
  }

  /** Returns the terms of all entries. */
  Set<String> words() {
    return meanings.keySet();
  }

  /**
   * Returns the distinct meanings of a text, in the order of its words; of entries that begin at
   * the same word, the longest one matches.
   *
   * @param words plain words, as from {@link TextNormalizer#toPlainWords}
   */
  List<String> meanings(String words) {
    var each = words.isEmpty() ? new String[0] : words.split(" ", -1);
    var found = new LinkedHashSet<String>();
    for (int i = 0; i < each.length; ) {
      i += meaningAt(each, i, found);
    }
    return found.stream().limit(MAX_MEANINGS).collect(Collectors.toUnmodifiableList());
  }

  /**
   * Adds the meaning of the entry that begins at a word, and returns the number of words of the
   * entry; 1 when no entry begins there.
   */
  private int meaningAt(String[] words, int index, Set<String> found) {
    for (int length = Math.min(maxWordsPerKey, words.length - index); length > 0; length--) {
      var meaning = meanings.get(String.join(" ", List.of(words).subList(index, index + length)));
      if (meaning != null) {
        found.add(meaning);
        return length;
      }
    }
    return 1;
  }
}
