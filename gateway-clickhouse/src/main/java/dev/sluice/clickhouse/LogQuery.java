package dev.sluice.clickhouse;

import dev.sluice.core.port.LogReader.Query;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The SQL of a {@link Query}. No value is ever part of the text: all are parameters.
 *
 * <p><em>Time.</em> {@code DateTime64(9)} reaches to 2262, but the table is partitioned by {@code
 * toDate}, which starts again at 1970 after 2149, and sorted by {@code toStartOfFiveMinutes}, which
 * does so after 2106. ClickHouse takes both for monotonic, and a comparison with {@code Timestamp}
 * itself would prune parts that hold what is looked for. So time is compared as {@code
 * toUnixTimestamp64Nano(Timestamp)}, which prunes parts by their first and last instant, and the
 * sort key is compared by itself. Instants before and after {@link #SORTED_END} are asked for
 * apart: within the first, which is all but everything, the sort key has the order of time, and the
 * newest rows are read in the table's own order, without sorting it.
 */
final class LogQuery {
  private static final long SECOND = 1_000_000_000L;

  /** 2106-02-07T06:28:16Z: from here on the sort key is not in the order of time. */
  private static final long SORTED_END = (1L << 32) * SECOND;

  private static final String COLUMNS =
      """
      SELECT Id, toUnixTimestamp64Nano(Timestamp), toUnixTimestamp64Nano(ObservedTimestamp),
        toUnixTimestamp64Nano(ReceivedTimestamp), SeverityNumber, toString(SeverityText),
        toString(ServiceName), Body, TraceId, SpanId, Flags, EventName, LogAttributes,
        DroppedAttributesCount, ResourceAttributes, toString(ResourceSchemaUrl), ScopeName,
        toString(ScopeVersion), ScopeAttributes, toString(ScopeSchemaUrl)
      FROM otel_logs
      WHERE\s""";

  private final List<String> conditions = new ArrayList<>();
  private final Map<String, String> parameters = new LinkedHashMap<>();
  private String order = "Timestamp DESC, Id DESC";
  private long first; // instants, inclusive
  private long last;

  private LogQuery(Query query) {
    conditions.add("Tenant = {tenant:String}");
    parameters.put("tenant", query.tenant());
    if (query.service() != null) {
      conditions.add("ServiceName = {service:String}");
      parameters.put("service", query.service());
    }
    if (!query.severities().isEmpty()) {
      conditions.add("has({severities:Array(UInt8)}, SeverityNumber)");
      parameters.put("severities", query.severities().toString());
    }
    if (query.traceId() != null) {
      conditions.add("TraceId = {trace:String}");
      parameters.put("trace", query.traceId());
    }
    if (query.text() != null) {
      words(query.text());
    }
    query.attributes().forEach(this::attribute);
    after(query);
  }

  private void attribute(String key, String value) {
    int i = parameters.size();
    // a key that is not there has the value '' in ClickHouse; and its lookups do not find the key
    // '' in a map of LowCardinality keys, though it may be there
    conditions.add(
        (key.isEmpty()
                ? "mapExists((k, v) -> k = {key%1$d:String} AND v = {value%1$d:String}, LogAttributes)"
                : "mapContains(LogAttributes, {key%1$d:String})"
                    + " AND LogAttributes[{key%1$d:String}] = {value%1$d:String}")
            .formatted(i));
    parameters.put("key" + i, key);
    parameters.put("value" + i, value);
  }

  /** The part whose sort key is not in the order of time; null when the query excludes it. */
  static @Nullable LogQuery late(Query query) {
    return part(query, SORTED_END, Long.MAX_VALUE);
  }

  /** All other instants; null when the query excludes them. */
  static @Nullable LogQuery early(Query query) {
    var early = part(query, 0, SORTED_END - 1);
    if (early != null) {
      early.order = "toStartOfFiveMinutes(Timestamp) DESC, Timestamp DESC, Id DESC";
      early.boundKey();
    }
    return early;
  }

  private static @Nullable LogQuery part(Query query, long first, long last) {
    var part = new LogQuery(query);
    part.first = Math.max(first, query.fromNanos() == null ? 0 : query.fromNanos());
    part.last = last;
    if (query.toNanos() != null) {
      part.last = Math.min(part.last, Math.max(0, query.toNanos()) - 1);
    }
    if (query.after() != null) {
      part.last = Math.min(part.last, query.after().timeNanos());
    }
    if (part.first > part.last) {
      return null;
    }
    part.conditions.add("toUnixTimestamp64Nano(Timestamp) BETWEEN {first:Int64} AND {last:Int64}");
    part.parameters.put("first", String.valueOf(part.first));
    part.parameters.put("last", String.valueOf(part.last));
    return part;
  }

  /**
   * Bounds the sort key, which only helps to skip: a little wider than the instants, for any time
   * zone's idea of when five minutes begin.
   */
  private void boundKey() {
    conditions.add(
        "toStartOfFiveMinutes(Timestamp)"
            + " BETWEEN toDateTime({firstKey:UInt32}) AND toDateTime({lastKey:UInt32})");
    parameters.put("firstKey", String.valueOf(Math.max(0, first / SECOND - 600)));
    parameters.put("lastKey", String.valueOf(Math.min((1L << 32) - 1, last / SECOND + 300)));
  }

  private void after(Query query) {
    var after = query.after();
    if (after == null) {
      return;
    }
    conditions.add(
        """
        (toUnixTimestamp64Nano(Timestamp) < {afterTime:Int64}
          OR Id < toFixedString(unhex({afterId:String}), 16))""");
    parameters.put("afterTime", String.valueOf(after.timeNanos()));
    parameters.put("afterId", after.id().toHex());
  }

  /** Words as the index splits them: at every ASCII character that is neither letter nor digit. */
  private void words(String text) {
    var plain = new StringBuilder();
    var international = new StringBuilder();
    for (var word : Words.of(text)) {
      (Words.isAscii(word) ? plain : international).append(word).append(' ');
    }
    if (plain.isEmpty() && international.isEmpty()) {
      conditions.add("positionCaseInsensitiveUTF8(Body, {text:String}) > 0");
      parameters.put("text", text);
      return;
    }
    if (!plain.isEmpty()) {
      conditions.add("hasAllTokens(lower(Body), {words:String})");
      parameters.put("words", plain.toString());
    }
    if (!international.isEmpty()) {
      // the index folds the case of ASCII only, so these are looked for without it
      conditions.add("hasAllTokens(lowerUTF8(Body), {international:String}, 'splitByNonAlpha')");
      parameters.put("international", international.toString());
    }
  }

  String sql(int limit) {
    parameters.put("limit", String.valueOf(limit));
    return COLUMNS
        + String.join("\n  AND ", conditions)
        + "\nORDER BY "
        + order
        + "\nLIMIT {limit:UInt32}\nFORMAT RowBinary";
  }

  Map<String, String> parameters() {
    return parameters;
  }
}
