package dev.sluice.clickhouse;

import dev.sluice.core.port.LogReader.Query;
import dev.sluice.core.port.TemplateStats.TimeSlice;
import dev.sluice.core.query.LogFilter;
import dev.sluice.core.query.TextQuery;
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
 * The SQL of a {@link Query} and of what else is asked of logs. No value that somebody sent is ever
 * part of the text: all are parameters. Identities and instants are, which are numbers.
 *
 * <p><em>Time.</em> {@code DateTime64(9)} reaches to 2262, but the table is partitioned by {@code
 * toDate}, which starts again at 1970 after 2149, and sorted by {@code toStartOfFiveMinutes}, which
 * does so after 2106; where the server's clock is west of Greenwich, the first hours of 1970 are of
 * the last day there is. ClickHouse takes both for monotonic, and a comparison of {@code Timestamp}
 * with an instant of then would prune parts that hold what is looked for. So instants before and
 * after {@link #SORTED_END} are asked for apart: within the first, which is all but everything, the
 * sort key has the order of time, and the newest rows are read in the table's own order, without
 * sorting it. And {@code Timestamp} itself is compared only from {@link #FIRST_DAY} on, so that
 * ClickHouse derives days and sort key from it. Else it is {@code
 * toUnixTimestamp64Nano(Timestamp)}, which prunes parts by their first and last instant alone, and
 * takes 13 us more of CPU for each granule that the index on time is asked about; there the sort
 * key is compared by itself.
 */
final class LogQuery {
  private static final long SECOND_NANOS = 1_000_000_000L;

  /** From here on it is no day before 1970, wherever the server is. */
  private static final long FIRST_DAY = 86_400 * SECOND_NANOS;

  /** 2106-02-07T06:28:16Z: from here on the sort key is not in the order of time. */
  private static final long SORTED_END = (1L << 32) * SECOND_NANOS;

  /** A row if there is any log of then; parts tell by their last instant that they have none. */
  static final String UNSORTED_RANGE_EXISTS =
      """
      SELECT 1 FROM otel_logs WHERE toUnixTimestamp64Nano(Timestamp) >= %d LIMIT 1
      FORMAT RowBinary"""
          .formatted(SORTED_END);

  /** Logs asked for as few: if they are more, as many are read for nothing. */
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
   * Logs of all instants in no order; null when the query excludes them, goes on after others, or
   * is about what many logs may have. A phrase is mostly an identifier that a few have, and these
   * the text index tells.
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
    // by one thread: two take no less time, since most of it is to look through the index, and a
    // quarter more of CPU
    return where == null
        ? null
        : new LogQuery(
            COLUMNS,
            where,
            "LIMIT %s\nSETTINGS max_threads = 1\nFORMAT RowBinary"
                .formatted(where.bind("UInt32", limit)));
  }

  /** Marks alone, and words outside ASCII, are not in the text index. */
  private static boolean isIndexed(TextQuery text) {
    return switch (text) {
      case TextQuery.Phrase(var phrase) ->
          ClickHouseTokenizer.tokenize(phrase).stream().anyMatch(ClickHouseTokenizer::isAscii);
      case TextQuery.And(var all) -> all.stream().anyMatch(LogQuery::isIndexed);
      case TextQuery.Or(var any) -> any.stream().allMatch(LogQuery::isIndexed);
      case TextQuery.AllTerms _, TextQuery.Not _ -> false;
    };
  }

  /** The part whose sort key is not in the order of time; null when the query excludes it. */
  static @Nullable LogQuery unsortedRange(Query query, int limit) {
    return page(query, limit, SORTED_END, Long.MAX_VALUE, "Timestamp DESC, Id DESC");
  }

  /** All other instants; null when the query excludes them. */
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

  /** Count, first and last instant of what is sorted by time. */
  static LogQuery sortedRangeExtent(LogFilter filter) {
    var where = whereBetween(filter, 0, SORTED_END - 1);
    return timeExtent(where == null ? WhereClause.matchNone() : where);
  }

  /** The same of all later instants; null when the filter excludes them. */
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

  /** Number of the bucket, severity number, count. */
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

  /** The templates of logs, each once. */
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
   * Something about the logs of templates in these places, and perhaps in those of others among
   * them; null when the filter excludes them all.
   *
   * @param select the columns
   * @param rest what follows the conditions
   */
  static @Nullable LogQuery forTemplates(
      LogFilter filter, List<TimeSlice> slices, String select, String rest) {
    var where = WhereClause.of(filter);
    // a condition for each time and not for each place, since each is held against every row; of a
    // template that it has too many of, those are no harm
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
   * Adds a time to others, and makes one of those that touch.
   *
   * @param times the last instant of each, by the first
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

  /** The last of those that begin until the instant after this end. */
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

  /** The filter's conditions for these instants; null when it excludes them all. */
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
   * @param from what stands for the first instant in the SQL
   * @param to what does for the last one
   */
  private static String timeCondition(long first, long last, String from, String to) {
    if (first >= FIRST_DAY && last < SORTED_END) {
      return "Timestamp BETWEEN fromUnixTimestamp64Nano(%s) AND fromUnixTimestamp64Nano(%s)"
          .formatted(from, to);
    }
    var instants = "toUnixTimestamp64Nano(Timestamp) BETWEEN %s AND %s".formatted(from, to);
    // a little later than the last one, for any time zone's idea of when five minutes begin
    return last < SORTED_END - 300 * SECOND_NANOS
        ? instants
            + " AND toStartOfFiveMinutes(Timestamp) <= toDateTime(%d)"
                .formatted(last / SECOND_NANOS + 300)
        : instants;
  }

  /** The first instant of these that the filter does not exclude. */
  private static long earliestNanos(LogFilter filter, long earliest) {
    var from = filter.fromNanos();
    return from == null ? earliest : Math.max(earliest, from);
  }

  /** The last one. */
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
