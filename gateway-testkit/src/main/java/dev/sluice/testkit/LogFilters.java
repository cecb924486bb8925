package dev.sluice.testkit;

import dev.sluice.core.port.LogReader.StoredLog;
import dev.sluice.core.query.AttributeCondition;
import dev.sluice.core.query.LogFilter;
import dev.sluice.core.query.TextQuery;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** What a {@link LogFilter} means, said a second time and without a database. */
final class LogFilters {
  private LogFilters() {}

  static boolean matches(String tenant, StoredLog log, LogFilter filter) {
    return tenant.equals(filter.tenant())
        && (filter.service() == null || filter.service().equals(log.service()))
        && (filter.severities().isEmpty() || filter.severities().contains(log.severityNumber()))
        && log.severityNumber() >= filter.minSeverity()
        && (filter.fromNanos() == null || log.timeNanos() >= filter.fromNanos())
        && (filter.toNanos() == null || log.timeNanos() < filter.toNanos())
        && (filter.traceId() == null || filter.traceId().equals(log.traceId()))
        && (filter.spanId() == null || filter.spanId().equals(log.spanId()))
        && (filter.text() == null || says(log.body(), filter.text()))
        && all(filter.attributes(), log.attributes())
        && all(filter.resource(), log.resource())
        && (filter.resourceId() == null || filter.resourceId().equals(log.resourceId()))
        && (filter.templates().isEmpty() || isOneOf(filter.templates(), log.templateId()));
  }

  private static boolean isOneOf(List<UUID> templates, @Nullable UUID template) {
    return template != null && templates.contains(template);
  }

  private static boolean all(List<AttributeCondition> conditions, Map<String, String> attributes) {
    return conditions.stream().allMatch(condition -> holds(condition, attributes));
  }

  private static boolean holds(AttributeCondition condition, Map<String, String> attributes) {
    var value = attributes.get(condition.key());
    return switch (condition.operator()) {
      case EQUAL, IN -> value != null && condition.values().contains(value);
      case NOT_EQUAL -> value == null || !condition.values().contains(value);
      case PREFIX -> value != null && value.startsWith(condition.values().getFirst());
      case EXISTS -> value != null;
    };
  }

  private static boolean says(String body, TextQuery query) {
    return switch (query) {
      case TextQuery.AllTerms(var text) -> {
        var words = words(text);
        yield words.isEmpty() ? lower(body).contains(lower(text)) : words(body).containsAll(words);
      }
      case TextQuery.Phrase(var text) -> saysExactly(lower(body), lower(text));
      case TextQuery.And(var all) -> all.stream().allMatch(one -> says(body, one));
      case TextQuery.Or(var any) -> any.stream().anyMatch(one -> says(body, one));
      case TextQuery.Not(var that) -> !says(body, that);
    };
  }

  private static boolean saysExactly(String body, String phrase) {
    for (int at = body.indexOf(phrase); at >= 0; at = body.indexOf(phrase, at + 1)) {
      int end = at + phrase.length();
      if ((at == 0 || !joins(body.charAt(at - 1), phrase.charAt(0)))
          && (end == body.length()
              || !joins(phrase.charAt(phrase.length() - 1), body.charAt(end)))) {
        return true;
      }
    }
    return false;
  }

  /** Whether two neighbours are inside of one word. */
  private static boolean joins(char left, char right) {
    return isWord(left) && isWord(right);
  }

  private static boolean isWord(char c) {
    return c >= 0x80 || Character.isLetterOrDigit(c);
  }

  private static String lower(String text) {
    return text.toLowerCase(Locale.ROOT);
  }

  private static Set<String> words(String text) {
    var words = new HashSet<>(Arrays.asList(lower(text).split("[\\x00-\\x7f&&[^a-z0-9]]+", -1)));
    words.remove("");
    return words;
  }
}
