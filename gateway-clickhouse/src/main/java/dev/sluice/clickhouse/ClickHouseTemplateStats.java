package dev.sluice.clickhouse;

import dev.sluice.core.port.LogReader.QueryTooExpensiveException;
import dev.sluice.core.port.TemplateStats;
import dev.sluice.core.query.LogFilter;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What ClickHouse's tables {@code log_templates}, {@code log_template_counts}, {@code
 * log_template_times} and {@code log_template_newest} tell of templates.
 *
 * <p>Shares the tables' upkeep and the connections with a {@link ClickHouseLogStore}, whose end is
 * its own. Safe for use by many threads; all methods block.
 */
public final class ClickHouseTemplateStats implements TemplateStats {
  /** Of the names of services in one answer, as they come. */
  private static final long MAX_NAME_BYTES = 32 << 20;

  /** Of a message that only shows what a template is of; as many as are kept of the newest. */
  private static final int MAX_BODY_CHARACTERS = 4_000;

  /** Services in one condition. */
  private static final int MAX_NAMED_SERVICES = 100;

  /** Of their names: parameters are part of a URL. */
  private static final int MAX_NAME_LETTERS = 16_384;

  /**
   * Of a service and a template in one condition: ClickHouse takes each for six parts of a question
   * that may have 50,000, and more than these few gain nothing by being named.
   */
  private static final int MAX_SERVICE_TEMPLATE_PAIRS = 1_000;

  private final ClickHouseLogStore store;

  /**
   * @param store with whose connections it works
   */
  public ClickHouseTemplateStats(ClickHouseLogStore store) {
    this.store = store;
  }

  /** {@inheritDoc} Goes through all links of the tenant, which are in no order. */
  @Override
  public List<TemplateLink> links(String tenant, int limit) throws InterruptedException {
    // of several rows for an id the greatest link counts
    return query(
        """
        SELECT TemplateId, max(MergedInto) AS link
        FROM log_templates
        WHERE Tenant = {tenant:String} AND notEmpty(MergedInto)
        GROUP BY TemplateId
        HAVING link IN (SELECT TemplateId FROM log_templates WHERE Tenant = {tenant:String})
        LIMIT {limit:UInt32}
        FORMAT RowBinary""",
        Map.of("tenant", tenant, "limit", String.valueOf(limit)),
        RowBinary::readLinks);
  }

  @Override
  public List<TemplateCount> counts(TemplateQuery query) throws InterruptedException {
    var where = WhereClause.of(query);
    var from = where.bindMinute(query.minuteRange().from());
    var counts = new ArrayList<TemplateCount>();
    boolean more =
        query(
            """
            SELECT TemplateId, toString(ServiceName), SeverityNumber,
              sumIf(Logs, Minute >= %1$s), sumIf(Logs, Minute < %1$s)
            FROM log_template_counts
            WHERE %2$s
            GROUP BY TemplateId, ServiceName, SeverityNumber
            LIMIT %3$s
            FORMAT RowBinary"""
                .formatted(from, where.sql(), where.bind("UInt32", MAX_COUNTS + 1)),
            where.parameters(),
            in -> RowBinary.readCounts(in, MAX_COUNTS, MAX_NAME_BYTES, counts));
    if (more) {
      throw new QueryTooExpensiveException(
          "more than %d counts of templates by service and level, or their names too long"
              .formatted(MAX_COUNTS));
    }
    return counts;
  }

  @Override
  public Map<UUID, MinuteRange> activeRanges(
      String tenant, @Nullable String service, Collection<UUID> ids) throws InterruptedException {
    var where = whereTemplates(tenant, service, ids);
    return ids.isEmpty()
        ? Map.of()
        : query(
            """
            SELECT TemplateId, intDiv(toInt64(min(FirstMinute)), 60),
              intDiv(toInt64(max(LastMinute)), 60) + 1
            FROM log_template_times
            WHERE %s
            GROUP BY TemplateId
            FORMAT RowBinary"""
                .formatted(where.sql()),
            where.parameters(),
            RowBinary::readMinutes);
  }

  @Override
  public List<ServiceActivity> serviceActivity(
      String tenant, @Nullable String service, Collection<UUID> ids) throws InterruptedException {
    var where = whereTemplates(tenant, service, ids);
    if (ids.isEmpty()) {
      return List.of();
    }
    return query(
            """
            SELECT TemplateId, toString(ServiceName), intDiv(toInt64(min(FirstMinute)), 60),
              intDiv(toInt64(max(LastMinute)), 60) + 1
            FROM log_template_times
            WHERE %s
            GROUP BY TemplateId, ServiceName
            LIMIT %d
            FORMAT RowBinary"""
                .formatted(where.sql(), MAX_COUNTS + 1),
            where.parameters(),
            in -> RowBinary.readServiceActivity(in, MAX_COUNTS, MAX_NAME_BYTES))
        .orElseThrow(
            () ->
                new QueryTooExpensiveException(
                    "templates in more than %d services, or their names too long"
                        .formatted(MAX_COUNTS)));
  }

  @Override
  public List<SampleLog> latestSamples(TemplateQuery query) throws InterruptedException {
    requireIds(query);
    var where = WhereClause.withoutTime(query);
    return store.queryWithShortTimeout(
        """
            SELECT TemplateId, Id, toUnixTimestamp64Nano(Timestamp) AS nanos, SeverityNumber,
              toString(ServiceName), Body
            FROM log_template_newest
            WHERE %s
            ORDER BY nanos DESC, Id DESC
            LIMIT 1 BY TemplateId
            FORMAT RowBinary"""
            .formatted(where.sql()),
        where.parameters(),
        RowBinary::readSampleLogs);
  }

  private static WhereClause whereTemplates(
      String tenant, @Nullable String service, Collection<UUID> ids) {
    requireAtMostMaxIds(ids);
    var where = WhereClause.of(tenant, service);
    where.add("TemplateId IN (%s)".formatted(DictionaryTable.uuidList(ids)));
    return where;
  }

  /**
   * {@inheritDoc} More than half of what such a question costs of a few templates is that
   * ClickHouse plans it, which grows with each function in it: so a span that lies outside the
   * frame is mended here, and one thread reads what is little.
   */
  @Override
  public List<CountBucket> countBuckets(TemplateQuery query, BucketLayout layout)
      throws InterruptedException {
    requireIds(query);
    if (layout.templatesByService().isEmpty()) {
      return List.of();
    }
    boolean selective = fitsInCondition(layout.templatesByService());
    var where = WhereClause.of(selective ? query.withIds(Set.of()) : query);
    if (selective) {
      where.add(serviceTemplatePairs(layout.templatesByService(), where));
    }
    var minuteRange = query.minuteRange();
    var bucket =
        "intDiv(toInt64(Minute) - %s, %s)"
            .formatted(
                where.bind("Int64", layout.firstMinute() * 60),
                where.bind("Int64", layout.bucketMinutes() * 60));
    var buckets =
        query(
            """
            SELECT TemplateId, toString(ServiceName), SeverityNumber, %s AS span, sum(Logs),
              min(Minute), max(Minute)
            FROM log_template_counts
            WHERE %s
            GROUP BY TemplateId, ServiceName, SeverityNumber, span%s
            LIMIT %d
            %s
            FORMAT RowBinary"""
                .formatted(
                    // a time before the frame may be what was asked for all the same
                    minuteRange.from() == 0
                        ? bucket
                        : "if(Minute < %s, %d, greatest(%s, 0))"
                            .formatted(
                                where.bindMinute(minuteRange.from()),
                                CountBucket.PRECEDING,
                                bucket),
                    where.sql(),
                    minuteRange.to() == MinuteRange.ALL.to()
                        ? ""
                        : ", Minute = " + where.bindMinute(minuteRange.to() - 1),
                    MAX_COUNTS + 1,
                    selective ? "SETTINGS max_threads = 1" : ""),
            where.parameters(),
            in -> RowBinary.readCountBuckets(in, MAX_COUNTS, MAX_NAME_BYTES));
    return buckets
        .orElseThrow(
            () ->
                new QueryTooExpensiveException(
                    "more than %d counts of templates by time, or their services' names too long"
                        .formatted(MAX_COUNTS)))
        .stream()
        .map(each -> clampToLayout(layout, minuteRange.from() > 0, each))
        .toList();
  }

  /** What came after the frame was made is in its first or last span. */
  private static CountBucket clampToLayout(
      BucketLayout layout, boolean includesBefore, CountBucket bucket) {
    long min = includesBefore ? CountBucket.PRECEDING : 0;
    long index = Math.clamp(bucket.bucket(), min, layout.bucketCount() - 1);
    return index == bucket.bucket() ? bucket : bucket.withBucket(index);
  }

  private static boolean fitsInCondition(Map<String, Set<UUID>> idsByService) {
    return idsByService.size() <= MAX_NAMED_SERVICES
        && idsByService.values().stream().mapToLong(Set::size).sum() <= MAX_SERVICE_TEMPLATE_PAIRS
        && idsByService.keySet().stream().mapToLong(String::length).sum() <= MAX_NAME_LETTERS;
  }

  /** For the table's index, of which they are the first part but for the tenant. */
  private static String serviceTemplatePairs(
      Map<String, Set<UUID>> idsByService, WhereClause where) {
    return idsByService.entrySet().stream()
        .flatMap(
            each -> {
              var service = where.bind("String", each.getKey());
              return each.getValue().stream()
                  .map(id -> "(%s, toUUID('%s'))".formatted(service, id));
            })
        .collect(Collectors.joining(", ", "(ServiceName, TemplateId) IN (", ")"));
  }

  /**
   * {@inheritDoc} Of a message its beginning. Two threads read what is little for ClickHouse: who
   * asks is waiting for it.
   */
  @Override
  public List<SampleLog> newestLogs(LogFilter filter, List<TimeSlice> slices, int each)
      throws InterruptedException {
    if (slices.size() > MAX_TIME_SLICES) {
      throw new IllegalArgumentException(slices.size() + " places, at most " + MAX_TIME_SLICES);
    }
    if (slices.isEmpty()) {
      return List.of();
    }
    var query =
        LogQuery.forTemplates(
            filter,
            slices,
            """
            SELECT TemplateId, Id, toUnixTimestamp64Nano(Timestamp) AS nanos, SeverityNumber,
              toString(ServiceName), substringUTF8(Body, 1, %d)
            """
                .formatted(MAX_BODY_CHARACTERS),
            """
            ORDER BY nanos DESC, Id DESC
            LIMIT %d BY TemplateId
            SETTINGS merge_tree_min_rows_for_concurrent_read = 16384,
              merge_tree_min_bytes_for_concurrent_read = 262144
            FORMAT RowBinary"""
                .formatted(each));
    return query == null
        ? List.of()
        : query(query.sql(), query.parameters(), RowBinary::readSampleLogs);
  }

  private static void requireIds(TemplateQuery query) {
    if (query.ids().isEmpty()) {
      throw new IllegalArgumentException("of no templates");
    }
  }

  private static void requireAtMostMaxIds(Collection<UUID> ids) {
    if (ids.size() > MAX_IDS) {
      throw new IllegalArgumentException(ids.size() + " ids, at most " + MAX_IDS);
    }
  }

  /**
   * The ids are part of the text, which as UUIDs they can be: see {@link
   * DictionaryTable#entriesQuery}.
   */
  private <T> T query(
      String sql, Map<String, String> parameters, ClickHouseClient.ResponseReader<T> reader)
      throws InterruptedException {
    return store.query(sql, parameters, reader);
  }
}
