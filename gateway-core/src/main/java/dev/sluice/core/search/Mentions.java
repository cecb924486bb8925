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

/**
 * The newest logs that mention what a question names.
 *
 * @param filter which logs come into question
 * @param limit logs at least, if there are as many
 */
record Mentions(LogFilter filter, int limit, LogReader reader) {
  /** By so many of them their templates are told. */
  private static final int TELLING = 20;

  /** Those with all of these; none where there are none. */
  List<StoredLog> ofAll(List<String> words) throws InterruptedException {
    return words.isEmpty() ? List.of() : saying(new TextQuery.Words(String.join(" ", words)));
  }

  /**
   * Those with all values, or, where none has, with some.
   *
   * @param words of which rather all are to be in one; none when they do not matter
   */
  List<StoredLog> ofValues(List<String> values, List<String> words) throws InterruptedException {
    if (values.isEmpty()) {
      return List.of();
    }
    var phrases = values.stream().<TextQuery>map(TextQuery.Phrase::new).toList();
    var logs = ofAll(words);
    if (logs.isEmpty()) {
      logs = saying(new TextQuery.And(phrases));
    }
    if (logs.isEmpty() && values.size() > 1) {
      logs = saying(new TextQuery.Or(phrases));
    }
    return logs;
  }

  private List<StoredLog> saying(TextQuery text) throws InterruptedException {
    int most = Math.max(TELLING, limit);
    return reader.read(new LogReader.Query(filter.saying(text), most, null)).logs();
  }

  /** By what the texts of templates are found. */
  interface Texts {
    Map<UUID, String> of(Collection<UUID> ids) throws InterruptedException;
  }

  /**
   * The templates that are found by what these logs mention. What many logs have may be a word that
   * looks like a value, such as {@code k8s}; where a template has it itself, it is one.
   *
   * @param values that were asked for; none when logs were found by words that no template has
   */
  static Set<UUID> templates(List<StoredLog> logs, List<String> values, Texts texts)
      throws InterruptedException {
    var newest = logs.subList(0, Math.min(logs.size(), TELLING));
    var ids =
        newest.stream()
            .map(StoredLog::templateId)
            .filter(Objects::nonNull)
            .collect(Collectors.toCollection(LinkedHashSet::new));
    if (ids.isEmpty() || values.isEmpty() || logs.size() < TELLING) {
      return ids;
    }
    var known = texts.of(ids);
    return newest.stream()
        .filter(log -> ids.contains(log.templateId()))
        .filter(log -> hasValue(log.body(), known.getOrDefault(log.templateId(), ""), values))
        .map(StoredLog::templateId)
        .collect(Collectors.toSet());
  }

  /** One that its template has not. */
  private static boolean hasValue(String body, String template, List<String> values) {
    var said = body.toLowerCase(Locale.ROOT);
    var always = template.toLowerCase(Locale.ROOT);
    return values.stream()
        .map(value -> value.toLowerCase(Locale.ROOT))
        .anyMatch(value -> said.contains(value) && !always.contains(value));
  }
}
