package dev.sluice.query.filter;

import static java.nio.charset.StandardCharsets.UTF_8;

import dev.sluice.core.domain.LogBatch;
import dev.sluice.core.otlp.AnyValueFormatter;
import dev.sluice.core.otlp.Attributes;
import dev.sluice.core.otlp.ByteOutput;
import dev.sluice.core.otlp.OtlpRecord;
import java.util.Arrays;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Evaluates a {@link LogFilter} on one record. The body and the attributes are decoded only if the
 * filter has a condition on them, and after all cheaper conditions. Safe for use by many threads.
 */
final class LogMatcher {
  private static final String SERVICE_NAME = "service.name";

  private LogMatcher() {}

  static boolean matches(
      LogFilter filter,
      LogBatch batch,
      OtlpRecord log,
      @Nullable UUID templateId,
      @Nullable UUID resourceId) {
    var bytes = log.bytes();
    var resource = log.resource().attributes();
    return filter.tenant().equals(batch.tenant())
        && log.severityNumber() >= filter.minSeverity()
        && (filter.severities().isEmpty() || filter.severities().contains(log.severityNumber()))
        && isInTimeRange(filter, timeNanos(batch, log))
        && (filter.resourceId() == null || filter.resourceId().equals(resourceId))
        && (filter.templates().isEmpty()
            || templateId != null && filter.templates().contains(templateId))
        && hasId(filter.traceId(), bytes, log.traceIdOffset(), log.traceIdLength())
        && hasId(filter.spanId(), bytes, log.spanIdOffset(), log.spanIdLength())
        && (filter.service() == null
            || filter
                .service()
                .equals(Objects.requireNonNullElse(find(SERVICE_NAME, resource, bytes), "")))
        && matchesAll(filter.resource(), resource, bytes)
        && matchesAll(filter.attributes(), log.attributes(), bytes)
        && (filter.text() == null || matches(filter.text(), body(log)));
  }

  /** Returns the event time with which the store stores the record. */
  private static long timeNanos(LogBatch batch, OtlpRecord log) {
    long sent = log.timeNanos() == 0 ? log.observedNanos() : log.timeNanos();
    return sent == 0 ? batch.receivedNanos() : sent;
  }

  private static boolean isInTimeRange(LogFilter filter, long nanos) {
    return (filter.fromNanos() == null || nanos >= filter.fromNanos())
        && (filter.toNanos() == null || nanos < filter.toNanos());
  }

  private static boolean hasId(@Nullable String id, byte[] bytes, int offset, int length) {
    return id == null || id.equals(HexFormat.of().formatHex(bytes, offset, offset + length));
  }

  private static String body(OtlpRecord log) {
    var out = new ByteOutput(256);
    AnyValueFormatter.append(log.body(), log.bytes(), out);
    return new String(out.array(), 0, out.size(), UTF_8);
  }

  /** Returns the value of an attribute as the text with which it is stored; null if absent. */
  private static @Nullable String find(String key, Attributes attributes, byte[] bytes) {
    var wanted = key.getBytes(UTF_8);
    for (int i = 0; i < attributes.size(); i++) {
      int offset = attributes.keyOffset(i);
      int end = offset + attributes.keyLength(i);
      if (Arrays.equals(bytes, offset, end, wanted, 0, wanted.length)) {
        var out = new ByteOutput(64);
        AnyValueFormatter.append(attributes.value(i), bytes, out);
        return new String(out.array(), 0, out.size(), UTF_8);
      }
    }
    return null;
  }

  private static boolean matchesAll(
      List<AttributeCondition> conditions, Attributes attributes, byte[] bytes) {
    for (var condition : conditions) {
      var value = find(condition.key(), attributes, bytes);
      boolean matches =
          switch (condition.operator()) {
            case EQUAL, IN -> value != null && condition.values().contains(value);
            case NOT_EQUAL -> value == null || !condition.values().contains(value);
            case PREFIX -> value != null && value.startsWith(condition.values().getFirst());
            case EXISTS -> value != null;
          };
      if (!matches) {
        return false;
      }
    }
    return true;
  }

  private static boolean matches(TextQuery query, String body) {
    return switch (query) {
      case TextQuery.AllTerms(var text) -> {
        var terms = terms(text);
        yield terms.isEmpty() ? lower(body).contains(lower(text)) : terms(body).containsAll(terms);
      }
      case TextQuery.Phrase(var text) -> containsPhrase(lower(body), lower(text));
      case TextQuery.And(var all) -> all.stream().allMatch(each -> matches(each, body));
      case TextQuery.Or(var any) -> any.stream().anyMatch(each -> matches(each, body));
      case TextQuery.Not(var negated) -> !matches(negated, body);
    };
  }

  private static boolean containsPhrase(String body, String phrase) {
    for (int start = body.indexOf(phrase); start >= 0; start = body.indexOf(phrase, start + 1)) {
      int end = start + phrase.length();
      if ((start == 0 || !isInsideTerm(body.charAt(start - 1), phrase.charAt(0)))
          && (end == body.length()
              || !isInsideTerm(phrase.charAt(phrase.length() - 1), body.charAt(end)))) {
        return true;
      }
    }
    return false;
  }

  /** Whether two adjacent characters are inside the same term. */
  private static boolean isInsideTerm(char left, char right) {
    return isTermCharacter(left) && isTermCharacter(right);
  }

  private static boolean isTermCharacter(char c) {
    return c >= 0x80 || Character.isLetterOrDigit(c);
  }

  private static String lower(String text) {
    return text.toLowerCase(Locale.ROOT);
  }

  private static Set<String> terms(String text) {
    var terms = new HashSet<>(Arrays.asList(lower(text).split("[\\x00-\\x7f&&[^a-z0-9]]+", -1)));
    terms.remove("");
    return terms;
  }
}
