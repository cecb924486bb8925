package dev.sluice.clickhouse;

import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.filter.TextQuery;
import dev.sluice.query.port.LogReader.Query;
import dev.sluice.query.port.TemplateStats.TimeSlice;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The SQL of a {@link Query} and of other queries for logs. Values from clients are never part of
 * the text but always parameters; only ids and instants, which are numbers, may be part of the
 * text.
 *
 * <p><em>Time.</em> {@code DateTime64(9)} ends in 2262. But {@code toDate}, by which the table is
 * partitioned, wraps around to 1970 after 2149, and {@code toStartOfFiveMinutes}, by which the
 * table is sorted, after 2106. With a server time zone west of Greenwich, the first hours of 1970
 * belong to the last day of the type. ClickHouse treats both functions as monotonic, so that a
 * comparison of {@code Timestamp} with such an instant would prune parts that have matching rows.
 * Therefore instants before and after {@link #SORTED_END} are queried separately: in the first
 * range, which has nearly all records, the sort key has the order of time, and the newest rows are
 * read in the order of the table, without sorting. {@code Timestamp} itself is compared only from
 * {@link #FIRST_DAY} on, so that ClickHouse derives conditions on days and on the sort key.
 * Otherwise the condition is on {@code toUnixTimestamp64Nano(Timestamp)}, which prunes parts only
 * by their first and last instant and costs more CPU for each granule of the time index; there, a
 * separate condition on the sort key is added.
 */
final class LogQuery {
  private static final long SECOND_NANOS = 1_000_000_000L;

  /** The first instant that is not a day before 1970 in any time zone of the server. */
  private static final long FIRST_DAY = 86_400 * SECOND_NANOS;

  /** 2106-02-07T06:28:16Z, from which on the sort key does not have the order of time. */
  private static final long SORTED_END = (1L << 32) * SECOND_NANOS;

  /**
   * Selects one row if there is any log from {@link #SORTED_END} on; parts without such logs are
   * pruned by their last instant.
   */
  static final String UNSORTED_RANGE_EXISTS =
      """
      SELECT 1 FROM otel_logs WHERE toUnixTimestamp64Nano(Timestamp) >= %d LIMIT 1
      FORMAT RowBinary"""
          .formatted(SORTED_END);

  /**
   * Maximum number of rows of a lookup in the text index; with more matches, the table is read in
   * its order instead.
   */
  private static final int MAX_INDEX_LOOKUP_ROWS = 1_000;

  private static final String COLUMNS =
      """
      SELECT Id, toUnixTimestamp64Nano(Timestamp), toUnixTimestamp64Nano(ObservedTimestamp),
        toUnixTimestamp64Nano(ReceivedTimestamp), SeverityNumber, toString(SeverityText),
        toString(ServiceName), Body, TraceId, SpanId, Flags, EventName, LogAttributes,
        DroppedAttributesCount, ResourceAttributes, toString(ResourceSchemaUrl), ScopeName,
        toString(ScopeVersion), ScopeAttributes, toString(ScopeSchemaUrl), TemplateId,
        ResourceId
      """;

  private final WhereClause where;
  private final String select;
  private final String rest;

  private LogQuery(String select, WhereClause where, String rest) {
    this.select = select;
    this.where = where;
    this.rest = rest;
  }

  /**
   * Returns a query for logs of all instants, unsorted; null when the query excludes all instants,
   * continues after a cursor, or has terms that may be frequent. A phrase is mostly an identifier
   * with few matches, which the text index finds.
   */
  static @Nullable LogQuery textIndexLookup(Query query, int limit) {
    var text = query.filter().text();
    if (query.after() != null
        || limit > MAX_INDEX_LOOKUP_ROWS
        || text == null
        || !isIndexed(text)) {
      return null;
    }
    var where = whereBetween(query.filter(), 0, Long.MAX_VALUE);
    // One thread: most of the time is spent in the index, so that a second thread costs CPU and
    // saves no time; measured; see docs/search.md.
    return where == null
        ? null
        : new LogQuery(
            COLUMNS,
            where,
            "LIMIT %s\nSETTINGS max_threads = 1\nFORMAT RowBinary"
                .formatted(where.bind("UInt32", limit)));
  }

  /**
   * Whether the text index narrows the query. It contains neither punctuation alone nor terms
   * outside ASCII.
   */
  private static boolean isIndexed(TextQuery text) {
    return switch (text) {
      case TextQuery.Phrase(var phrase) ->
          ClickHouseTokenizer.tokenize(phrase).stream().anyMatch(ClickHouseTokenizer::isAscii);
      case TextQuery.And(var all) -> all.stream().anyMatch(LogQuery::isIndexed);
      case TextQuery.Or(var any) -> any.stream().allMatch(LogQuery::isIndexed);
      case TextQuery.AllTerms _, TextQuery.Not _ -> false;
    };
  }

  /**
   * Returns the query for the range whose sort key does not have the order of time; null when the
   * query excludes that range.
   */
  static @Nullable LogQuery unsortedRange(Query query, int limit) {
    return page(query, limit, SORTED_END, Long.MAX_VALUE, "Timestamp DESC, Id DESC");
  }

  /** Returns the query for all other instants; null when the query excludes these. */
  static @Nullable LogQuery sortedRange(Query query, int limit) {
    return page(
        query,
        limit,
        0,
        SORTED_END - 1,
        "toStartOfFiveMinutes(Timestamp) DESC, Timestamp DESC, Id DESC");
  }

  private static @Nullable LogQuery page(
      Query query, int limit, long first, long last, String order) {
    var after = query.after();
    var where =
        whereBetween(
            query.filter(), first, after == null ? last : Math.min(last, after.timeNanos()));
    if (where == null) {
      return null;
    }
    if (after != null) {
      where.add(
          """
          (toUnixTimestamp64Nano(Timestamp) < %s OR Id < toFixedString(unhex(%s), 16))"""
              .formatted(
                  where.bind("Int64", after.timeNanos()),
                  where.bind("String", after.id().toHex())));
    }
    return new LogQuery(
        COLUMNS,
        where,
        "ORDER BY %s\nLIMIT %s\nFORMAT RowBinary".formatted(order, where.bind("UInt32", limit)));
  }

  /** Returns the query for the count and the first and last instant in the sorted range. */
  static LogQuery sortedRangeExtent(LogFilter filter) {
    var where = whereBetween(filter, 0, SORTED_END - 1);
    return timeExtent(where == null ? WhereClause.matchNone() : where);
  }

  /** Returns the same query for all later instants; null when the filter excludes these. */
  static @Nullable LogQuery unsortedRangeExtent(LogFilter filter) {
    var where = whereBetween(filter, SORTED_END, Long.MAX_VALUE);
    return where == null ? null : timeExtent(where);
  }

  private static LogQuery timeExtent(WhereClause where) {
    return new LogQuery(
        """
        SELECT count(), min(toUnixTimestamp64Nano(Timestamp)), max(toUnixTimestamp64Nano(Timestamp))
        """,
        where,
        "FORMAT RowBinary");
  }

  /** Returns the query for rows of bucket number, severity number and count. */
  static LogQuery histogram(LogFilter filter, long originNanos, long widthNanos) {
    var where = whereBetween(filter, 0, Long.MAX_VALUE);
    var whereClause = where == null ? WhereClause.matchNone() : where;
    return new LogQuery(
        """
        SELECT intDiv(toUnixTimestamp64Nano(Timestamp) - %s, %s) AS bucket, SeverityNumber, count()
        """
            .formatted(
                whereClause.bind("Int64", originNanos), whereClause.bind("Int64", widthNanos)),
        whereClause,
        "GROUP BY bucket, SeverityNumber\nORDER BY bucket\nFORMAT RowBinary");
  }

  /** Returns the query for the distinct templates of logs. */
  static LogQuery templates(LogFilter filter, int limit) {
    var where = whereBetween(filter, 0, Long.MAX_VALUE);
    var whereClause = where == null ? WhereClause.matchNone() : where;
    whereClause.add("notEmpty(TemplateId)");
    return new LogQuery(
        "SELECT DISTINCT TemplateId\n",
        whereClause,
        "LIMIT %s\nFORMAT RowBinary".formatted(whereClause.bind("UInt32", limit)));
  }

  /**
   * Returns a query for the logs of templates in the given time slices; null when the filter
   * excludes all slices. The result may also have logs of one template in a slice of another.
   *
   * @param select the columns
   * @param rest the SQL after the conditions
   */
  static @Nullable LogQuery forTemplates(
      LogFilter filter, List<TimeSlice> slices, String select, String rest) {
    var where = WhereClause.of(filter);
    // One condition for each interval and not for each slice, since each condition is evaluated for
    // every row. Additional logs of a template do no harm.
    var ids = new LinkedHashSet<UUID>();
    var times = new LinkedHashMap<Optional<String>, NavigableMap<Long, Long>>();
    for (var slice : slices) {
      ids.add(slice.template());
      long first = earliestNanos(filter, slice.fromNanos());
      long last = latestNanos(filter, slice.lastNanos());
      if (first <= last) {
        mergeInterval(
            times.computeIfAbsent(Optional.ofNullable(slice.service()), _ -> new TreeMap<>()),
            first,
            last);
      }
    }
    where.add("TemplateId IN (%s)".formatted(DictionaryTable.uuidList(ids)));
    if (times.isEmpty()) {
      return null;
    }
    var servicesByTime = new LinkedHashMap<String, Set<Optional<String>>>();
    times.forEach(
        (service, each) ->
            each.forEach(
                (first, last) ->
                    servicesByTime
                        .computeIfAbsent(
                            timeCondition(first, last, String.valueOf(first), String.valueOf(last)),
                            _ -> new LinkedHashSet<>())
                        .add(service)));
    where.add(
        servicesByTime.entrySet().stream()
            .map(
                each ->
                    each.getValue().contains(Optional.empty())
                        ? each.getKey()
                        : "%s AND ServiceName IN (%s)"
                            .formatted(each.getKey(), bindAll(each.getValue(), where)))
            .collect(Collectors.joining(" OR ", "(", ")")));
    return new LogQuery(select, where, rest);
  }

  /**
   * Adds an interval to the others, and joins intervals that overlap or are adjacent.
   *
   * @param times the last instant of each interval, by the first instant
   */
  private static void mergeInterval(NavigableMap<Long, Long> times, long first, long last) {
    long start = first;
    long end = last;
    var other = lastAdjacent(times, end);
    while (other != null && other.getValue() >= start - 1) {
      start = Math.min(start, other.getKey());
      end = Math.max(end, other.getValue());
      times.remove(other.getKey());
      other = lastAdjacent(times, end);
    }
    times.put(start, end);
  }

  /** Returns the last interval that begins at most one instant after this end. */
  private static Map.@Nullable Entry<Long, Long> lastAdjacent(
      NavigableMap<Long, Long> times, long end) {
    return times.floorEntry(end == Long.MAX_VALUE ? end : end + 1);
  }

  private static String bindAll(Set<Optional<String>> names, WhereClause where) {
    return names.stream()
        .flatMap(Optional::stream)
        .map(name -> where.bind("String", name))
        .collect(Collectors.joining(", "));
  }

  /**
   * Returns the conditions of the filter for these instants; null when the filter excludes all of
   * them.
   */
  private static @Nullable WhereClause whereBetween(LogFilter filter, long earliest, long latest) {
    long first = earliestNanos(filter, earliest);
    long last = latestNanos(filter, latest);
    if (first > last) {
      return null;
    }
    var where = WhereClause.of(filter);
    where.add(timeCondition(first, last, where.bind("Int64", first), where.bind("Int64", last)));
    return where;
  }

  /**
   * Returns the condition on a range of instants.
   *
   * @param from the SQL of the first instant
   * @param to the SQL of the last instant
   */
  private static String timeCondition(long first, long last, String from, String to) {
    if (first >= FIRST_DAY && last < SORTED_END) {
      return "Timestamp BETWEEN fromUnixTimestamp64Nano(%s) AND fromUnixTimestamp64Nano(%s)"
          .formatted(from, to);
    }
    var instants = "toUnixTimestamp64Nano(Timestamp) BETWEEN %s AND %s".formatted(from, to);
    // Five minutes more than the last instant, since the time zone shifts the start of five
    // minutes.
    return last < SORTED_END - 300 * SECOND_NANOS
        ? instants
            + " AND toStartOfFiveMinutes(Timestamp) <= toDateTime(%d)"
                .formatted(last / SECOND_NANOS + 300)
        : instants;
  }

  /** Returns the first of these instants that the filter includes. */
  private static long earliestNanos(LogFilter filter, long earliest) {
    var from = filter.fromNanos();
    return from == null ? earliest : Math.max(earliest, from);
  }

  /** Returns the last of these instants that the filter includes. */
  private static long latestNanos(LogFilter filter, long latest) {
    var to = filter.toNanos();
    return to == null ? latest : Math.min(latest, Math.max(0, to) - 1);
  }

  String sql() {
    return select + "FROM otel_logs\nWHERE " + where.sql() + "\n" + rest;
  }

  Map<String, String> parameters() {
    return where.parameters();
  }
}
