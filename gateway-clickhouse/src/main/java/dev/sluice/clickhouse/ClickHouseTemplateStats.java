package dev.sluice.clickhouse;

import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.LogReader.QueryTooExpensiveException;
import dev.sluice.query.port.TemplateStats;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A {@link TemplateStats} on the ClickHouse tables {@code log_templates}, {@code
 * log_template_counts}, {@code log_template_times} and {@code log_template_newest}.
 *
 * <p>Shares the connections and the schema migration of a {@link ClickHouseDatabase}, whose close
 * also ends this object. Safe for use by many threads; all methods block.
 */
public final class ClickHouseTemplateStats implements TemplateStats {
  /** Maximum size of the service names in one response, in bytes. */
  private static final long MAX_NAME_BYTES = 32 << 20;

  /** Maximum number of characters of a sample body; the table of newest logs has as many. */
  private static final int MAX_BODY_CHARACTERS = 4_000;

  /** Maximum number of services in one condition. */
  private static final int MAX_NAMED_SERVICES = 100;

  /**
   * Maximum number of characters of all service names in one condition, since parameters are part
   * of the URL.
   */
  private static final int MAX_NAME_LETTERS = 16_384;

  /**
   * Maximum number of pairs of service and template in one condition. ClickHouse counts each pair
   * as six elements of a query, which may have 50,000, and a condition on more pairs saves nothing.
   */
  private static final int MAX_SERVICE_TEMPLATE_PAIRS = 1_000;

  private final ClickHouseDatabase database;

  /**
   * @param database the database whose connections are used
   */
  public ClickHouseTemplateStats(ClickHouseDatabase database) {
    this.database = database;
  }

  /** {@inheritDoc} Reads all links of the tenant, which have no index. */
  @Override
  public List<TemplateLink> links(String tenant, int limit) throws InterruptedException {
    // The greatest of several links of an id is valid.
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
          "more than %d counts by template, service and severity, or service names are too long"
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
                    "templates in more than %d services, or service names are too long"
                        .formatted(MAX_COUNTS)));
  }

  @Override
  public List<SampleLog> latestSamples(TemplateQuery query) throws InterruptedException {
    requireIds(query);
    var where = WhereClause.withoutTime(query);
    return database.queryWithShortTimeout(
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
   * {@inheritDoc} For a few templates, ClickHouse spends most of the time on planning, which grows
   * with each function in the query. So bucket numbers outside the layout are corrected in the
   * gateway, and one thread reads the few rows.
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
                    // Minutes before the layout may still be in the queried range.
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
                    "more than %d counts of templates by time, or service names are too long"
                        .formatted(MAX_COUNTS)))
        .stream()
        .map(each -> clampToLayout(layout, minuteRange.from() > 0, each))
        .toList();
  }

  /**
   * Moves a bucket outside the layout, from records that arrived after the layout was computed,
   * into the first or last bucket.
   */
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

  /**
   * Returns a condition on pairs of service and template, which follow the tenant in the primary
   * key.
   */
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
   * {@inheritDoc} A body has only its beginning. Two threads read even few rows, since a client
   * waits for the result.
   */
  @Override
  public List<SampleLog> newestLogs(LogFilter filter, List<TimeSlice> slices, int limitPerTemplate)
      throws InterruptedException {
    if (slices.size() > MAX_TIME_SLICES) {
      throw new IllegalArgumentException(slices.size() + " slices, at most " + MAX_TIME_SLICES);
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
                .formatted(limitPerTemplate));
    return query == null
        ? List.of()
        : query(query.sql(), query.parameters(), RowBinary::readSampleLogs);
  }

  private static void requireIds(TemplateQuery query) {
    if (query.ids().isEmpty()) {
      throw new IllegalArgumentException("query has no template ids");
    }
  }

  private static void requireAtMostMaxIds(Collection<UUID> ids) {
    if (ids.size() > MAX_IDS) {
      throw new IllegalArgumentException(ids.size() + " ids, at most " + MAX_IDS);
    }
  }

  /**
   * Runs a query. Template ids are part of its text, which is safe for UUIDs: see {@link
   * DictionaryTable#entriesQuery}.
   */
  private <T> T query(
      String sql, Map<String, String> parameters, ClickHouseClient.ResponseReader<T> reader)
      throws InterruptedException {
    return database.query(sql, parameters, reader);
  }
}
