package dev.sluice.api.http;

import dev.sluice.api.decode.JsonStrings;
import dev.sluice.api.decode.Timestamps;
import dev.sluice.core.domain.Severity;
import dev.sluice.core.ingest.RequestContext;
import dev.sluice.query.filter.AttributeCondition;
import dev.sluice.query.filter.AttributeCondition.Operator;
import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.filter.TextQuery;
import dev.sluice.query.port.LogReader.Position;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.TreeSet;
import java.util.UUID;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.util.MultiValueMap;

/**
 * The parameters of a query string. An invalid or unknown parameter is a {@link
 * HttpProblemException} that names it: to ignore a misspelled filter would return other logs.
 */
public final class QueryParameters {
  private static final List<String> FILTER_PARAMETERS =
      List.of(
          "service",
          "severity",
          "min_severity",
          "from",
          "to",
          "trace_id",
          "span_id",
          "text",
          "attributes",
          "resource",
          "template_id",
          "resource_id");

  private static final Pattern UUID_TEXT =
      Pattern.compile("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}");

  /**
   * A condition: a key, one operator, and a value. A key with an operator in it is in double
   * quotes, as a string of JSON.
   */
  private static final Pattern CONDITION =
      Pattern.compile(
          "(?s)(?<key>\"(?:[^\"\\\\]|\\\\.)*+\"|(?!\").*?)"
              + "(?<operator>!=|\\^=|=| in (?=\\[))(?<value>.*)");

  private final MultiValueMap<String, String> parameters;

  /**
   * @param others the names of the parameters allowed besides those of the filter
   */
  public QueryParameters(MultiValueMap<String, String> parameters, String... others) {
    this(parameters, Stream.concat(FILTER_PARAMETERS.stream(), Arrays.stream(others)));
  }

  /** Creates the parameters of a request that has no log filter. */
  public static QueryParameters withoutFilter(
      MultiValueMap<String, String> parameters, String... known) {
    return new QueryParameters(parameters, Arrays.stream(known));
  }

  private QueryParameters(MultiValueMap<String, String> parameters, Stream<String> names) {
    this.parameters = parameters;
    var known = names.collect(Collectors.toCollection(TreeSet::new));
    for (var name : parameters.keySet()) {
      if (!known.contains(name)) {
        throw HttpProblemException.malformed(
            "unknown parameter; known are " + String.join(", ", known));
      }
    }
  }

  LogFilter filter(RequestContext context) {
    var filter =
        LogFilter.of(context.tenant())
            .service(singleValue("service"))
            .severities(severities())
            .minSeverity(minSeverity())
            .from(time("from"))
            .to(time("to"))
            .traceId(hex("trace_id", 32))
            .spanId(hex("span_id", 16))
            .text(text())
            .resourceId(resourceId());
    values("attributes").forEach(text -> filter.attribute(condition("attributes", text)));
    values("resource").forEach(text -> filter.resource(condition("resource", text)));
    values("template_id").forEach(text -> filter.template(templateId("template_id", text)));
    try {
      return filter.build();
    } catch (IllegalArgumentException e) {
      throw HttpProblemException.malformed(String.valueOf(e.getMessage()));
    }
  }

  private List<String> values(String name) {
    // a parameter without = has no value, for which Spring has null
    return parameters.getOrDefault(name, List.of()).stream()
        .map(value -> Objects.requireNonNullElse(value, ""))
        .toList();
  }

  /** Returns the only value of a parameter; null when the parameter is missing or empty. */
  @Nullable String singleValue(String name) {
    var values = values(name);
    if (values.isEmpty()) {
      return null;
    }
    if (values.size() > 1) {
      throw HttpProblemException.malformed(name + " occurs more than once");
    }
    var value = values.getFirst();
    return value.isEmpty() ? null : value;
  }

  /** Returns an integer from 1 to {@code max}; the default when the parameter is missing. */
  public int number(String name, int defaultValue, int max) {
    var value = singleValue(name);
    if (value == null) {
      return defaultValue;
    }
    try {
      int number = Integer.parseInt(value);
      if (number >= 1 && number <= max) {
        return number;
      }
    } catch (NumberFormatException _) {
      // reported below
    }
    throw HttpProblemException.malformed(name + " is not a number from 1 to " + max);
  }

  public @Nullable Position cursor() {
    var cursor = singleValue("cursor");
    try {
      return cursor == null ? null : Position.ofCursor(cursor);
    } catch (IllegalArgumentException _) {
      throw HttpProblemException.malformed("cursor is not a next_cursor of this API");
    }
  }

  private @Nullable TextQuery text() {
    var text = singleValue("text");
    try {
      return text == null ? null : TextQuery.parse(text);
    } catch (IllegalArgumentException e) {
      throw HttpProblemException.malformed("text has " + e.getMessage());
    }
  }

  private static int severity(String parameter, String name) {
    return Severity.numberOf(name)
        .orElseThrow(
            () ->
                HttpProblemException.malformed(
                    parameter + " is not one of TRACE, DEBUG, INFO, WARN, ERROR, FATAL"));
  }

  /** Returns the lowest requested severity number; 0 for all. */
  int minSeverity() {
    var name = singleValue("min_severity");
    return name == null ? 0 : severity("min_severity", name);
  }

  /** Returns the requested severity numbers; an empty list for all. */
  List<Integer> severities() {
    var numbers = new ArrayList<Integer>();
    for (var value : values("severity")) {
      for (var name : value.split(",", -1)) {
        numbers.addAll(severities("severity", name));
      }
    }
    return numbers;
  }

  /** Returns the numbers of a severity: four of a level, one of a name such as {@code INFO2}. */
  public static List<Integer> severities(String parameter, String name) {
    int lowest = severity(parameter, name);
    boolean level =
        Arrays.stream(Severity.values())
            .anyMatch(l -> l.name().equals(name.strip().toUpperCase(Locale.ROOT)));
    return IntStream.range(lowest, lowest + (level ? 4 : 1)).boxed().toList();
  }

  /** Returns a time in nanoseconds since 1970; null when the parameter is missing. */
  @Nullable Long time(String name) {
    var value = singleValue(name);
    if (value == null) {
      return null;
    }
    try {
      return Timestamps.ofText(value);
    } catch (Timestamps.InvalidTimestampException e) {
      throw HttpProblemException.malformed(name + " " + e.reason());
    }
  }

  private @Nullable String hex(String name, int digits) {
    var value = singleValue(name);
    if (value == null) {
      return null;
    }
    if (!value.matches("[0-9a-fA-F]{" + digits + "}")) {
      throw HttpProblemException.malformed(name + " is not " + digits + " hexadecimal digits");
    }
    return value.toLowerCase(Locale.ROOT);
  }

  private @Nullable UUID resourceId() {
    var text = singleValue("resource_id");
    return text == null ? null : id("resource_id", text, "resource");
  }

  /** Parses a template id, a UUID; the zero UUID is invalid, because it means no template. */
  static UUID templateId(String parameter, String text) {
    return id(parameter, text, "template");
  }

  private static UUID id(String parameter, String text, String kind) {
    if (!UUID_TEXT.matcher(text).matches() || text.matches("[0-]+")) {
      throw HttpProblemException.malformed(
          "%s is not the id of a %s, such as d41d8cd9-8f00-b204-e980-0998ecf8427e"
              .formatted(parameter, kind));
    }
    return UUID.fromString(text);
  }

  /**
   * Parses a condition: {@code key=value}, {@code key!=value}, {@code key^=prefix}, {@code key in
   * ["a","b"]} or {@code key}.
   */
  private static AttributeCondition condition(String parameter, String text) {
    var parts = CONDITION.matcher(text);
    boolean operator = parts.matches();
    try {
      var keyText = operator ? parts.group("key") : text;
      boolean quoted = keyText.startsWith("\"");
      var key = quoted ? JsonStrings.parse("[" + keyText + "]").getFirst() : keyText;
      if (key.isEmpty()) {
        throw new IllegalArgumentException("no key");
      }
      if (!operator) {
        return new AttributeCondition(key, Operator.EXISTS, List.of());
      }
      var value = parts.group("value");
      return switch (parts.group("operator")) {
        case "=" -> new AttributeCondition(key, Operator.EQUAL, List.of(value));
        case "!=" ->
            new AttributeCondition(key, Operator.NOT_EQUAL, List.of(required(value, quoted)));
        case "^=" -> new AttributeCondition(key, Operator.PREFIX, List.of(required(value, quoted)));
        default -> new AttributeCondition(key, Operator.IN, JsonStrings.parse(value));
      };
    } catch (IllegalArgumentException e) {
      throw HttpProblemException.malformed(
          parameter
              + " is not key, key=value, key!=value, key^=prefix or key in [\"a\",\"b\"], where a key"
              + " with an operator in it is a string of JSON, such as \"a=b\": "
              + e.getMessage());
    }
  }

  /**
   * Returns the value. Without one, the condition would hold for nearly all logs, and the operator
   * may be the end of the key; a quoted key excludes that.
   */
  private static String required(String value, boolean quotedKey) {
    if (value.isEmpty() && !quotedKey) {
      throw new IllegalArgumentException("no value; an empty one needs the key in double quotes");
    }
    return value;
  }
}
