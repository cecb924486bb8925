package dev.sluice.query.search;

import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.filter.TextQuery;
import dev.sluice.query.port.LogReader;
import dev.sluice.query.port.LogReader.StoredLog;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Searches the newest log records that contain literal terms of a query.
 *
 * @param filter conditions on the records
 * @param limit number of records that the caller needs; a search may return up to {@value
 *     #SAMPLE_SIZE} records if that is more
 * @param reader the reader of the records
 */
record LiteralLogSearch(LogFilter filter, int limit, LogReader reader) {
  /** Number of newest records from which the matching templates are determined. */
  private static final int SAMPLE_SIZE = 20;

  private static final int MAX_NAMES = 8;
  private static final int MAX_FEW_WORDS = 2;

  /** Returns records that contain all words; empty when there are no words. */
  List<StoredLog> findByWords(List<String> words) throws InterruptedException {
    return words.isEmpty() ? List.of() : query(allTerms(words));
  }

  private static TextQuery allTerms(List<String> words) {
    return new TextQuery.AllTerms(String.join(" ", words));
  }

  /**
   * Returns records that contain all values, or, if there are none, records that contain some of
   * the values.
   *
   * @param words words that the records should also contain, if such records exist; empty to ignore
   *     words
   */
  List<StoredLog> findByValues(List<String> values, List<String> words)
      throws InterruptedException {
    if (values.isEmpty()) {
      return List.of();
    }
    var phrases = values.stream().<TextQuery>map(TextQuery.Phrase::new).toList();
    var logs = List.<StoredLog>of();
    if (!words.isEmpty()) {
      logs =
          query(
              new TextQuery.And(
                  Stream.concat(Stream.of(allTerms(words)), phrases.stream()).toList()));
    }
    if (logs.isEmpty()) {
      logs = query(new TextQuery.And(phrases));
    }
    if (logs.isEmpty() && values.size() > 1) {
      logs = query(new TextQuery.Or(phrases));
    }
    return logs;
  }

  /**
   * Returns records that contain all names, or else some of the names. The names may be values
   * although the query does not mark them as such. Since the query does not request this search
   * explicitly, it must be cheap: names with characters beyond ASCII, which have no index, are
   * ignored, and a search that is too expensive returns no records.
   */
  List<StoredLog> findByNames(List<String> names) throws InterruptedException {
    var asciiNames = names.stream().filter(LiteralLogSearch::isAscii).limit(MAX_NAMES).toList();
    try {
      return findByValues(asciiNames, List.of());
    } catch (LogReader.QueryTooExpensiveException _) {
      return List.of();
    }
  }

  /**
   * Returns records that contain all words, with the same limits as {@link #findByNames}; empty for
   * more than {@value #MAX_FEW_WORDS} words, since no record contains every word of a sentence.
   */
  List<StoredLog> findByFewWords(List<String> words) throws InterruptedException {
    if (words.size() > MAX_FEW_WORDS || !words.stream().allMatch(LiteralLogSearch::isAscii)) {
      return List.of();
    }
    try {
      return findByWords(words);
    } catch (LogReader.QueryTooExpensiveException _) {
      return List.of();
    }
  }

  private static boolean isAscii(String word) {
    return word.chars().allMatch(character -> character < 0x80);
  }

  private List<StoredLog> query(TextQuery text) throws InterruptedException {
    int maxLogs = Math.max(SAMPLE_SIZE, limit);
    return reader.read(new LogReader.Query(filter.withText(text), maxLogs, null)).logs();
  }

  /** The source of template texts. */
  interface TemplateTexts {
    Map<UUID, String> get(Collection<UUID> ids) throws InterruptedException;
  }

  /**
   * Returns the templates of the newest records that contain the literal terms. A value with many
   * matches may be a common word that looks like a value, such as {@code k8s}; then templates whose
   * own text contains the value are left out.
   *
   * @param values the values of the query; empty when the records were found by words that no
   *     template contains
   */
  static Set<UUID> templatesOf(List<StoredLog> logs, List<String> values, TemplateTexts texts)
      throws InterruptedException {
    var newest = logs.subList(0, Math.min(logs.size(), SAMPLE_SIZE));
    var ids =
        newest.stream()
            .map(StoredLog::templateId)
            .filter(Objects::nonNull)
            .collect(Collectors.toCollection(LinkedHashSet::new));
    if (ids.isEmpty() || values.isEmpty() || logs.size() < SAMPLE_SIZE) {
      return ids;
    }
    var textsById = texts.get(ids);
    return newest.stream()
        .filter(log -> ids.contains(log.templateId()))
        .filter(log -> hasValue(log.body(), textsById.getOrDefault(log.templateId(), ""), values))
        .map(StoredLog::templateId)
        .collect(Collectors.toSet());
  }

  /** Whether the body contains one of the values outside the constant text of its template. */
  private static boolean hasValue(String body, String template, List<String> values) {
    var message = body.toLowerCase(Locale.ROOT);
    var constantText = template.toLowerCase(Locale.ROOT);
    return values.stream()
        .map(value -> value.toLowerCase(Locale.ROOT))
        .anyMatch(value -> message.contains(value) && !constantText.contains(value));
  }
}
