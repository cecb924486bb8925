package dev.sluice.clickhouse;

import dev.sluice.query.filter.AttributeCondition;
import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.filter.TextQuery;
import dev.sluice.query.port.TemplateStats.MinuteRange;
import dev.sluice.query.port.TemplateStats.TemplateQuery;
import dev.sluice.templates.dictionary.TextReference;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Conditions on rows of {@code otel_logs} or {@code log_template_counts}, and the query parameters
 * with their values.
 */
final class WhereClause {
  /**
   * The separator of terms as an RE2 pattern: an ASCII character that is neither letter nor digit.
   */
  private static final String TOKEN_SEPARATOR = "[^a-zA-Z0-9\\x{80}-\\x{10FFFF}]";

  private final List<String> clauses = new ArrayList<>();
  private final Map<String, String> parameters = new LinkedHashMap<>();

  private WhereClause() {}

  /** Returns a condition that no row matches. */
  static WhereClause matchNone() {
    var whereClause = new WhereClause();
    whereClause.add("0");
    return whereClause;
  }

  /** Returns all conditions of the filter except the time range. */
  static WhereClause of(LogFilter filter) {
    var where = of(filter.tenant(), filter.service());
    where.addSeverities(filter.severities(), filter.minSeverity());
    if (filter.traceId() != null) {
      where.add("TraceId = " + where.bind("String", filter.traceId()));
    }
    if (filter.spanId() != null) {
      where.add("SpanId = " + where.bind("String", filter.spanId()));
    }
    if (filter.text() != null) {
      where.add(where.textCondition(filter.text()));
    }
    filter
        .attributes()
        .forEach(
            condition ->
                where.add(
                    where.attribute(
                        "LogAttributes",
                        condition,
                        where.logAttributePredicate(filter, condition))));
    filter
        .resource()
        .forEach(
            condition ->
                where.add(
                    where.attribute(
                        "ResourceAttributes",
                        condition,
                        where.resourceAttributePredicate(condition))));
    if (filter.resourceId() != null) {
      where.add("ResourceId = " + where.bind("UUID", filter.resourceId()));
    }
    if (!filter.templates().isEmpty()) {
      where.add("TemplateId IN (%s)".formatted(DictionaryTable.uuidList(filter.templates())));
    }
    return where;
  }

  /**
   * Returns all conditions of the query, with its minutes extended by the preceding range of the
   * same length.
   */
  static WhereClause of(TemplateQuery query) {
    var where = withoutTime(query);
    if (!query.minuteRange().equals(MinuteRange.ALL)) {
      where.add("Minute >= " + where.bindMinute(query.minuteRange().precedingFrom()));
      where.add("Minute < " + where.bindMinute(query.minuteRange().to()));
    }
    return where;
  }

  /** Returns all conditions of the query except the minutes. */
  static WhereClause withoutTime(TemplateQuery query) {
    var where = of(query.tenant(), query.service());
    where.addSeverities(query.severities(), query.minSeverity());
    if (!query.ids().isEmpty()) {
      where.add("TemplateId IN (%s)".formatted(DictionaryTable.uuidList(query.ids())));
    }
    return where;
  }

  /** Returns the condition on the tenant, and on the service unless it is null. */
  static WhereClause of(String tenant, @Nullable String service) {
    var where = new WhereClause();
    where.add("Tenant = " + where.bind("String", tenant));
    if (service != null) {
      where.add("ServiceName = " + where.bind("String", service));
    }
    return where;
  }

  /**
   * Adds a condition on templates that have the ids of the query and were counted in its service,
   * severities and minutes.
   */
  void addTemplatesOf(TemplateQuery query) {
    if (!query.ids().isEmpty()) {
      add("TemplateId IN (%s)".formatted(DictionaryTable.uuidList(query.ids())));
    }
    var templateConditions = new ArrayList<String>();
    templateConditions.add("Tenant = " + bind("String", query.tenant()));
    if (query.service() != null) {
      templateConditions.add("ServiceName = " + bind("String", query.service()));
    }
    var minuteRange = query.minuteRange();
    boolean hasStart = minuteRange.from() > 0;
    boolean hasEnd = minuteRange.to() < MinuteRange.ALL.to();
    // A range with one bound needs only the first or last minute of a template, from a table with
    // one row per template and service.
    boolean needsCounts =
        !query.severities().isEmpty() || query.minSeverity() > 0 || (hasStart && hasEnd);
    if (hasStart) {
      templateConditions.add(
          "%s >= %s"
              .formatted(needsCounts ? "Minute" : "LastMinute", bindMinute(minuteRange.from())));
    }
    if (hasEnd) {
      templateConditions.add(
          "%s < %s"
              .formatted(needsCounts ? "Minute" : "FirstMinute", bindMinute(minuteRange.to())));
    }
    templateConditions.addAll(severityConditions(query.severities(), query.minSeverity()));
    if (needsCounts || hasStart || hasEnd || query.service() != null) {
      add(
          "TemplateId IN (SELECT TemplateId FROM %s WHERE %s)"
              .formatted(
                  needsCounts ? "log_template_counts" : "log_template_times",
                  String.join(" AND ", templateConditions)));
    }
  }

  private void addSeverities(Collection<Integer> numbers, int lowest) {
    clauses.addAll(severityConditions(numbers, lowest));
  }

  private List<String> severityConditions(Collection<Integer> numbers, int lowest) {
    var conditions = new ArrayList<String>();
    if (!numbers.isEmpty()) {
      conditions.add(
          "has(%s, SeverityNumber)".formatted(bind("Array(UInt8)", List.copyOf(numbers))));
    }
    if (lowest > 0) {
      conditions.add("SeverityNumber >= " + bind("UInt8", lowest));
    }
    return conditions;
  }

  /** Binds the number of a minute since 1970 as a parameter, and returns its SQL expression. */
  String bindMinute(long number) {
    return "toDateTime64(%s, 0)".formatted(bind("Int64", number * 60));
  }

  void add(String condition) {
    clauses.add(condition);
  }

  /** Binds a value as a parameter, and returns its placeholder for the SQL. */
  String bind(String type, Object value) {
    var name = "p" + parameters.size();
    parameters.put(name, value.toString());
    return "{" + name + ":" + type + "}";
  }

  /**
   * Returns the condition on an attribute.
   *
   * @param predicate further SQL condition on the value, in which {@code %s} is the value
   */
  private String attribute(String map, AttributeCondition condition, String predicate) {
    var key = bind("String", condition.key());
    boolean not = condition.operator() == AttributeCondition.Operator.NOT_EQUAL;
    // In ClickHouse an absent key has the value ''. Lookups also do not find the key '' in a map
    // with LowCardinality keys, although the map may have it.
    var found =
        condition.key().isEmpty()
            ? "mapExists((k, v) -> k = %s%s, %s)".formatted(key, predicate.replace("%s", "v"), map)
            : "mapContains(%s, %s)%s"
                .formatted(map, key, predicate.replace("%s", "%s[%s]".formatted(map, key)));
    return not ? "NOT (" + found + ")" : found;
  }

  /** Returns the condition on a resource attribute, whose value is stored as it is. */
  private String resourceAttributePredicate(AttributeCondition condition) {
    return switch (condition.operator()) {
      case EQUAL, NOT_EQUAL, IN -> isOneOf(condition.values());
      case PREFIX -> " AND startsWith(%s, " + bind("String", condition.values().getFirst()) + ")";
      case EXISTS -> "";
    };
  }

  private String isOneOf(List<String> values) {
    return values.size() == 1
        ? " AND %s = " + bind("String", values.getFirst())
        : values.stream()
            .map(value -> bind("String", value))
            .collect(Collectors.joining(", ", " AND %s IN (", ")"));
  }

  /**
   * Returns the condition on a log attribute, whose value may be stored as a {@link TextReference}.
   */
  private String logAttributePredicate(LogFilter filter, AttributeCondition condition) {
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
   * Returns the condition on a prefix. A prefix that fits into the head of a reference needs no
   * lookup of long texts; a longer one also queries the texts themselves, which reads all long
   * texts of the tenant.
   */
  private String startsWith(String tenant, String prefix) {
    var prefixParameter = bind("String", prefix);
    var condition = "startsWith(%s, " + prefixParameter + ")";
    if (!TextReference.escape(prefix).equals(prefix)) {
      // a stored value that equals such a prefix is a reference or the escaped form of another text
      condition += " AND %s != " + prefixParameter;
    }
    var begin = TextReference.commonPrefix(prefix);
    if (begin.equals(prefix)) {
      return " AND " + condition;
    }
    return " AND startsWith(%s, "
        + bind("String", begin)
        + ") AND if(match(%s, "
        + bind("String", TextReference.PATTERN)
        + "), toUUIDOrZero(substring(%s, -37, 36)) IN (SELECT TextId FROM log_texts WHERE Tenant = "
        + bind("String", tenant)
        + " AND Kind = 'TEXT' AND startsWith(Text, "
        + prefixParameter
        + ")), "
        + condition
        + ")";
  }

  private String textCondition(TextQuery query) {
    return switch (query) {
      case TextQuery.AllTerms(var text) -> tokensCondition(text);
      case TextQuery.Phrase(var text) -> phraseCondition(text);
      case TextQuery.And(var all) -> join(all, " AND ");
      case TextQuery.Or(var any) -> join(any, " OR ");
      case TextQuery.Not(var negated) -> "NOT (" + textCondition(negated) + ")";
    };
  }

  private String join(List<TextQuery> queries, String separator) {
    return queries.stream()
        .map(this::textCondition)
        .collect(Collectors.joining(separator, "(", ")"));
  }

  /** Returns the condition on the terms of a text, split as in the text index. */
  private String tokensCondition(String text) {
    var ascii = new StringBuilder();
    var nonAscii = new StringBuilder();
    for (var word : ClickHouseTokenizer.tokenize(text)) {
      (ClickHouseTokenizer.isAscii(word) ? ascii : nonAscii).append(word).append(' ');
    }
    if (ascii.isEmpty() && nonAscii.isEmpty()) {
      return "positionCaseInsensitiveUTF8(Body, " + bind("String", text) + ") > 0";
    }
    var conditions = new ArrayList<String>();
    if (!ascii.isEmpty()) {
      conditions.add("hasAllTokens(lower(Body), %s)".formatted(bind("String", ascii)));
    }
    if (!nonAscii.isEmpty()) {
      // the index folds the case of ASCII only, so that it cannot find these terms
      conditions.add(
          "hasAllTokens(lowerUTF8(Body), %s, 'splitByNonAlpha')"
              .formatted(bind("String", nonAscii)));
    }
    return "(" + String.join(" AND ", conditions) + ")";
  }

  /**
   * Returns the condition on a phrase: its terms, which the index finds, and its literal text
   * between separators.
   */
  private String phraseCondition(String text) {
    var words = ClickHouseTokenizer.tokenize(text);
    var pattern = new StringBuilder("(?is)");
    if (ClickHouseTokenizer.isTokenChar(text.charAt(0))) {
      pattern.append("(?:^|").append(TOKEN_SEPARATOR).append(')');
    }
    text.codePoints().forEach(point -> appendLiteral(pattern, point));
    if (ClickHouseTokenizer.isTokenChar(text.charAt(text.length() - 1))) {
      pattern.append("(?:$|").append(TOKEN_SEPARATOR).append(')');
    }
    var exact = "match(Body, " + bind("String", pattern) + ")";
    return words.isEmpty() ? exact : "(" + tokensCondition(text) + " AND " + exact + ")";
  }

  private static void appendLiteral(StringBuilder pattern, int point) {
    if (point < 0x80 && !ClickHouseTokenizer.isTokenChar((char) point)) {
      pattern.append("\\x{").append(Integer.toHexString(point)).append('}');
    } else {
      pattern.appendCodePoint(point);
    }
  }

  String sql() {
    return String.join("\n  AND ", clauses);
  }

  Map<String, String> parameters() {
    return parameters;
  }
}
