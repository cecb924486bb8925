package dev.sluice.testkit;

import dev.sluice.query.filter.AttributeCondition;
import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.filter.TextQuery;
import dev.sluice.query.port.LogReader.StoredLog;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** A reference implementation of {@link LogFilter} without a database. */
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
        && (filter.text() == null || matchesText(log.body(), filter.text()))
        && matchesAll(filter.attributes(), log.attributes())
        && matchesAll(filter.resource(), log.resource())
        && (filter.resourceId() == null || filter.resourceId().equals(log.resourceId()))
        && (filter.templates().isEmpty() || isOneOf(filter.templates(), log.templateId()));
  }

  private static boolean isOneOf(List<UUID> templates, @Nullable UUID template) {
    return template != null && templates.contains(template);
  }

  private static boolean matchesAll(
      List<AttributeCondition> conditions, Map<String, String> attributes) {
    return conditions.stream().allMatch(condition -> matchesCondition(condition, attributes));
  }

  private static boolean matchesCondition(
      AttributeCondition condition, Map<String, String> attributes) {
    var value = attributes.get(condition.key());
    return switch (condition.operator()) {
      case EQUAL, IN -> value != null && condition.values().contains(value);
      case NOT_EQUAL -> value == null || !condition.values().contains(value);
      case PREFIX -> value != null && value.startsWith(condition.values().getFirst());
      case EXISTS -> value != null;
    };
  }

  private static boolean matchesText(String body, TextQuery query) {
    return switch (query) {
      case TextQuery.AllTerms(var text) -> {
        var terms = terms(text);
        yield terms.isEmpty() ? lower(body).contains(lower(text)) : terms(body).containsAll(terms);
      }
      case TextQuery.Phrase(var text) -> containsPhrase(lower(body), lower(text));
      case TextQuery.And(var all) -> all.stream().allMatch(one -> matchesText(body, one));
      case TextQuery.Or(var any) -> any.stream().anyMatch(one -> matchesText(body, one));
      case TextQuery.Not(var negated) -> !matchesText(body, negated);
    };
  }

  private static boolean containsPhrase(String body, String phrase) {
    for (int start = body.indexOf(phrase); start >= 0; start = body.indexOf(phrase, start + 1)) {
      int end = start + phrase.length();
      if ((start == 0 || !isInsideWord(body.charAt(start - 1), phrase.charAt(0)))
          && (end == body.length()
              || !isInsideWord(phrase.charAt(phrase.length() - 1), body.charAt(end)))) {
        return true;
      }
    }
    return false;
  }

  /** Whether two adjacent characters are inside the same word. */
  private static boolean isInsideWord(char left, char right) {
    return isWordCharacter(left) && isWordCharacter(right);
  }

  private static boolean isWordCharacter(char c) {
    return c >= 0x80 || Character.isLetterOrDigit(c);
  }

  private static String lower(String text) {
    return text.toLowerCase(Locale.ROOT);
  }

  private static Set<String> terms(String text) {
    var words = new HashSet<>(Arrays.asList(lower(text).split("[\\x00-\\x7f&&[^a-z0-9]]+", -1)));
    words.remove("");
    return words;
  }
}
