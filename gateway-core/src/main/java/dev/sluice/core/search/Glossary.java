package dev.sluice.core.search;

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
 * What the words of the trade mean to somebody who does not know them: who asks why a machine ran
 * out of memory does not say {@code oom}. Written without a look at any question or template that
 * search is measured with; see {@code docs/search.md}.
 *
 * <p>Immutable.
 */
final class Glossary {
  /** More would drown what the template itself says. */
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

  /** The one in the jar. */
  static Glossary bundled() {
    try (var in = Glossary.class.getResourceAsStream(RESOURCE)) {
      if (in == null) {
        throw new IllegalStateException("the jar lacks " + RESOURCE);
      }
      return of(new String(in.readAllBytes(), UTF_8));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * @param lines words, a tab, what they mean; lines that begin with {@code #} say something else
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
                throw new IllegalArgumentException("no entry, or one that is there: " + line);
              }
            });
    return new Glossary(meanings);
  }

  /** Everything that is explained. */
  Set<String> words() {
    return meanings.keySet();
  }

  /**
   * What these words mean, in their order, each meaning once; of entries at one place the longest.
   *
   * @param words as {@link TextNormalizer#toPlainWords} gives them
   */
  List<String> meanings(String words) {
    var each = words.isEmpty() ? new String[0] : words.split(" ", -1);
    var found = new LinkedHashSet<String>();
    for (int i = 0; i < each.length; ) {
      i += meaningAt(each, i, found);
    }
    return found.stream().limit(MAX_MEANINGS).collect(Collectors.toUnmodifiableList());
  }

  /** How many words it is of; one where there is none. */
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
