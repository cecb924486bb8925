package dev.sluice.clickhouse;

import dev.sluice.core.dictionary.TextReference;
import dev.sluice.core.port.TemplateStats.MinuteRange;
import dev.sluice.core.port.TemplateStats.TemplateQuery;
import dev.sluice.core.query.AttributeCondition;
import dev.sluice.core.query.LogFilter;
import dev.sluice.core.query.TextQuery;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Conditions on rows of {@code otel_logs} or {@code log_template_counts}, with the parameters that
 * hold their values.
 */
final class Conditions {
  /** What parts words, for RE2: every ASCII character that is neither letter nor digit. */
  private static final String BETWEEN_WORDS = "[^a-zA-Z0-9\\x{80}-\\x{10FFFF}]";

  private final List<String> all = new ArrayList<>();
  private final Map<String, String> parameters = new LinkedHashMap<>();

  private Conditions() {}

  /** That no row fulfils. */
  static Conditions none() {
    var conditions = new Conditions();
    conditions.add("0");
    return conditions;
  }

  /** Everything the filter says, but for time. */
  static Conditions of(LogFilter filter) {
    var where = of(filter.tenant(), filter.service());
    where.severities(filter.severities(), filter.minSeverity());
    if (filter.traceId() != null) {
      where.add("TraceId = " + where.parameter("String", filter.traceId()));
    }
    if (filter.spanId() != null) {
      where.add("SpanId = " + where.parameter("String", filter.spanId()));
    }
    if (filter.text() != null) {
      where.add(where.text(filter.text()));
    }
    filter
        .attributes()
        .forEach(
            condition ->
                where.add(
                    where.attribute("LogAttributes", condition, where.log(filter, condition))));
    filter
        .resource()
        .forEach(
            condition ->
                where.add(
                    where.attribute("ResourceAttributes", condition, where.value(condition))));
    if (filter.resourceId() != null) {
      where.add("ResourceId = " + where.parameter("UUID", filter.resourceId()));
    }
    if (!filter.templates().isEmpty()) {
      where.add("TemplateId IN (%s)".formatted(DictionaryTable.list(filter.templates())));
    }
    return where;
  }

  /** Everything the question says; of as many minutes before those asked for, too. */
  static Conditions of(TemplateQuery question) {
    var where = ofAllTimes(question);
    if (!question.minuteRange().equals(MinuteRange.ALL)) {
      where.add("Minute >= " + where.minute(question.minuteRange().precedingFrom()));
      where.add("Minute < " + where.minute(question.minuteRange().to()));
    }
    return where;
  }

  /** Everything the question says but for its minutes. */
  static Conditions ofAllTimes(TemplateQuery question) {
    var where = of(question.tenant(), question.service());
    where.severities(question.severities(), question.minSeverity());
    if (!question.ids().isEmpty()) {
      where.add("TemplateId IN (%s)".formatted(DictionaryTable.list(question.ids())));
    }
    return where;
  }

  /** All of a tenant, or of one of its services. */
  static Conditions of(String tenant, @Nullable String service) {
    var where = new Conditions();
    where.add("Tenant = " + where.parameter("String", tenant));
    if (service != null) {
      where.add("ServiceName = " + where.parameter("String", service));
    }
    return where;
  }

  /** Only templates that came in a service, with a level, in minutes, or are among those named. */
  void addTemplatesOf(TemplateQuery question) {
    if (!question.ids().isEmpty()) {
      add("TemplateId IN (%s)".formatted(DictionaryTable.list(question.ids())));
    }
    var came = new ArrayList<String>();
    came.add("Tenant = " + parameter("String", question.tenant()));
    if (question.service() != null) {
      came.add("ServiceName = " + parameter("String", question.service()));
    }
    var minuteRange = question.minuteRange();
    boolean begins = minuteRange.from() > 0;
    boolean ends = minuteRange.to() < MinuteRange.ALL.to();
    // what came at last after the beginning came in it, and there are as many rows as templates
    boolean counted =
        !question.severities().isEmpty() || question.minSeverity() > 0 || (begins && ends);
    if (begins) {
      came.add("%s >= %s".formatted(counted ? "Minute" : "LastMinute", minute(minuteRange.from())));
    }
    if (ends) {
      came.add("%s < %s".formatted(counted ? "Minute" : "FirstMinute", minute(minuteRange.to())));
    }
    came.addAll(severityConditions(question.severities(), question.minSeverity()));
    if (counted || begins || ends || question.service() != null) {
      add(
          "TemplateId IN (SELECT TemplateId FROM %s WHERE %s)"
              .formatted(
                  counted ? "log_template_counts" : "log_template_times",
                  String.join(" AND ", came)));
    }
  }

  private void severities(Collection<Integer> numbers, int lowest) {
    all.addAll(severityConditions(numbers, lowest));
  }

  private List<String> severityConditions(Collection<Integer> numbers, int lowest) {
    var conditions = new ArrayList<String>();
    if (!numbers.isEmpty()) {
      conditions.add(
          "has(%s, SeverityNumber)".formatted(parameter("Array(UInt8)", List.copyOf(numbers))));
    }
    if (lowest > 0) {
      conditions.add("SeverityNumber >= " + parameter("UInt8", lowest));
    }
    return conditions;
  }

  /** Takes the number of a minute since 1970 and returns what stands for it in the SQL. */
  String minute(long number) {
    return "toDateTime64(%s, 0)".formatted(parameter("Int64", number * 60));
  }

  void add(String condition) {
    all.add(condition);
  }

  /** Takes the value as a parameter and returns what stands for it in the SQL. */
  String parameter(String type, Object value) {
    var name = "p" + parameters.size();
    parameters.put(name, value.toString());
    return "{" + name + ":" + type + "}";
  }

  /**
   * @param holds what must also hold of the value, for which {@code %s} stands
   */
  private String attribute(String map, AttributeCondition condition, String holds) {
    var key = parameter("String", condition.key());
    boolean not = condition.operator() == AttributeCondition.Operator.NOT_EQUAL;
    // a key that is not there has the value '' in ClickHouse; and its lookups do not find the key
    // '' in a map of LowCardinality keys, though it may be there
    var found =
        condition.key().isEmpty()
            ? "mapExists((k, v) -> k = %s%s, %s)".formatted(key, holds.replace("%s", "v"), map)
            : "mapContains(%s, %s)%s"
                .formatted(map, key, holds.replace("%s", "%s[%s]".formatted(map, key)));
    return not ? "NOT (" + found + ")" : found;
  }

  /** Of a value that is stored as it is. */
  private String value(AttributeCondition condition) {
    return switch (condition.operator()) {
      case EQUAL, NOT_EQUAL, IN -> isOneOf(condition.values());
      case PREFIX ->
          " AND startsWith(%s, " + parameter("String", condition.values().getFirst()) + ")";
      case EXISTS -> "";
    };
  }

  private String isOneOf(List<String> values) {
    return values.size() == 1
        ? " AND %s = " + parameter("String", values.getFirst())
        : values.stream()
            .map(value -> parameter("String", value))
            .collect(Collectors.joining(", ", " AND %s IN (", ")"));
  }

  /** Of a value for which a {@link TextReference} may stand. */
  private String log(LogFilter filter, AttributeCondition condition) {
    return switch (condition.operator()) {
      case EQUAL, NOT_EQUAL, IN ->
          isOneOf(
              condition.values().stream()
                  .flatMap(
                      value ->
                          Stream.concat(
                              Stream.of(TextReference.escape(value)),
                              Stream.ofNullable(TextReference.of(value))))
                  .toList());
      case PREFIX -> startsWith(filter.tenant(), condition.values().getFirst());
      case EXISTS -> "";
    };
  }

  /**
   * A prefix that is within the beginning of any reference says it all. With a longer one the texts
   * themselves are asked, which reads those of the tenant.
   */
  private String startsWith(String tenant, String prefix) {
    var wanted = parameter("String", prefix);
    var starts = "startsWith(%s, " + wanted + ")";
    if (!TextReference.escape(prefix).equals(prefix)) {
      starts += " AND %s != " + wanted; // or the bracket more would be part of what is compared
    }
    var begin = TextReference.commonPrefix(prefix);
    if (begin.equals(prefix)) {
      return " AND " + starts;
    }
    return " AND startsWith(%s, "
        + parameter("String", begin)
        + ") AND if(match(%s, "
        + parameter("String", TextReference.PATTERN)
        + "), toUUIDOrZero(substring(%s, -37, 36)) IN (SELECT TextId FROM log_texts WHERE Tenant = "
        + parameter("String", tenant)
        + " AND Kind = 'TEXT' AND startsWith(Text, "
        + wanted
        + ")), "
        + starts
        + ")";
  }

  private String text(TextQuery query) {
    return switch (query) {
      case TextQuery.AllTerms(var text) -> words(text);
      case TextQuery.Phrase(var text) -> phrase(text);
      case TextQuery.And(var all) -> joined(all, " AND ");
      case TextQuery.Or(var any) -> joined(any, " OR ");
      case TextQuery.Not(var that) -> "NOT (" + text(that) + ")";
    };
  }

  private String joined(List<TextQuery> queries, String by) {
    return queries.stream().map(this::text).collect(Collectors.joining(by, "(", ")"));
  }

  /** Words as the index splits them: at every ASCII character that is neither letter nor digit. */
  private String words(String text) {
    var plain = new StringBuilder();
    var international = new StringBuilder();
    for (var word : Words.of(text)) {
      (Words.isAscii(word) ? plain : international).append(word).append(' ');
    }
    if (plain.isEmpty() && international.isEmpty()) {
      return "positionCaseInsensitiveUTF8(Body, " + parameter("String", text) + ") > 0";
    }
    var conditions = new ArrayList<String>();
    if (!plain.isEmpty()) {
      conditions.add("hasAllTokens(lower(Body), %s)".formatted(parameter("String", plain)));
    }
    if (!international.isEmpty()) {
      // the index folds the case of ASCII only, so these are looked for without it
      conditions.add(
          "hasAllTokens(lowerUTF8(Body), %s, 'splitByNonAlpha')"
              .formatted(parameter("String", international)));
    }
    return "(" + String.join(" AND ", conditions) + ")";
  }

  /** Its words, for the index, and then the text itself between what parts words. */
  private String phrase(String text) {
    var words = Words.of(text);
    var pattern = new StringBuilder("(?is)");
    if (Words.isPart(text.charAt(0))) {
      pattern.append("(?:^|").append(BETWEEN_WORDS).append(')');
    }
    text.codePoints().forEach(point -> appendLiteral(pattern, point));
    if (Words.isPart(text.charAt(text.length() - 1))) {
      pattern.append("(?:$|").append(BETWEEN_WORDS).append(')');
    }
    var exact = "match(Body, " + parameter("String", pattern) + ")";
    return words.isEmpty() ? exact : "(" + words(text) + " AND " + exact + ")";
  }

  private static void appendLiteral(StringBuilder pattern, int point) {
    if (point < 0x80 && !Words.isPart((char) point)) {
      pattern.append("\\x{").append(Integer.toHexString(point)).append('}');
    } else {
      pattern.appendCodePoint(point);
    }
  }

  String sql() {
    return String.join("\n  AND ", all);
  }

  Map<String, String> parameters() {
    return parameters;
  }
}
