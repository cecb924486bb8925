package dev.sluice.core.search;

import dev.sluice.core.port.LogReader;
import dev.sluice.core.port.LogReader.StoredLog;
import dev.sluice.core.query.LogFilter;
import dev.sluice.core.query.TextQuery;
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
 * The newest logs that mention what a question names.
 *
 * @param filter which logs come into question
 * @param limit logs at least, if there are as many
 */
record LiteralLogSearch(LogFilter filter, int limit, LogReader reader) {
  /** By so many of them their templates are told. */
  private static final int SAMPLE_SIZE = 20;

  private static final int MAX_NAMES = 8;
  private static final int MAX_FEW_WORDS = 2;

  /** Those with all of these; none where there are none. */
  List<StoredLog> findByWords(List<String> words) throws InterruptedException {
    return words.isEmpty() ? List.of() : query(allTerms(words));
  }

  private static TextQuery allTerms(List<String> words) {
    return new TextQuery.AllTerms(String.join(" ", words));
  }

  /**
   * Those with all values, or, where none has, with some.
   *
   * @param words which those are to have, too, if there are such; none when they do not matter
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
   * Those with all names, or with some, which may be values, though nothing says so. Nobody has
   * asked for it, so it is not to cost much: what is beyond ASCII is in no index and not looked
   * for, and what takes too long has found nothing.
   */
  List<StoredLog> findByNames(List<String> names) throws InterruptedException {
    var asciiNames = names.stream().filter(LiteralLogSearch::isAscii).limit(MAX_NAMES).toList();
    try {
      return findByValues(asciiNames, List.of());
    } catch (LogReader.QueryTooExpensiveException _) {
      return List.of();
    }
  }

  /** The same of words, all of them; more than a few are a sentence, of which no log has each. */
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

  /** By what the texts of templates are found. */
  interface TemplateTexts {
    Map<UUID, String> get(Collection<UUID> ids) throws InterruptedException;
  }

  /**
   * The templates that are found by what these logs mention. What many logs have may be a word that
   * looks like a value, such as {@code k8s}; where a template has it itself, it is one.
   *
   * @param values that were asked for; none when logs were found by words that no template has
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

  /** One that its template has not. */
  private static boolean hasValue(String body, String template, List<String> values) {
    var message = body.toLowerCase(Locale.ROOT);
    var constantText = template.toLowerCase(Locale.ROOT);
    return values.stream()
        .map(value -> value.toLowerCase(Locale.ROOT))
        .anyMatch(value -> message.contains(value) && !constantText.contains(value));
  }
}
