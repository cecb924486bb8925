package dev.sluice.testkit;

import dev.sluice.core.domain.LogId;
import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.LogReader.QueryTooExpensiveException;
import dev.sluice.query.port.TemplateStats;
import dev.sluice.templates.dictionary.Dictionary.DictionaryEntry;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.function.BinaryOperator;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Template statistics in memory, for the templates of a dictionary in memory and for counts that
 * {@link #count} adds.
 *
 * <p>Thread-safe; counts are guarded by this object.
 */
public final class InMemoryTemplateStats implements TemplateStats {
  private static final Comparator<SampleLog> BY_TIME =
      Comparator.comparingLong(SampleLog::timeNanos).thenComparingLong(log -> log.id().low());

  private record Row(String tenant, String service, UUID template, int severity, long minute) {}

  private record TenantLog(String tenant, SampleLog sample, boolean inTail) {}

  private record Group(UUID template, String service, int severity) {}

  private final InMemoryDictionary dictionary;
  private final Map<Row, Long> counts = new HashMap<>();
  private final List<TenantLog> logs = new ArrayList<>();
  private boolean latestTooExpensive;
  private int maxLatestIds;
  private int newestCalls;
  private long scannedLogs;

  public InMemoryTemplateStats(InMemoryDictionary dictionary) {
    this.dictionary = dictionary;
  }

  /** Counts a stored log. */
  public void count(String tenant, String service, UUID template, int severity, long timeNanos) {
    count(tenant, service, template, severity, timeNanos, true);
  }

  /**
   * Counts a stored log.
   *
   * @param inTail whether {@link #latestSamples} finds it
   */
  public synchronized void count(
      String tenant, String service, UUID template, int severity, long timeNanos, boolean inTail) {
    counts.merge(
        new Row(tenant, service, template, severity, MinuteRange.minuteOf(timeNanos)),
        1L,
        Long::sum);
    var id = new LogId(0, logs.size() + 1);
    logs.add(
        new TenantLog(
            tenant, new SampleLog(template, id, timeNanos, severity, service, ""), inTail));
  }

  @Override
  public List<TemplateLink> links(String tenant, int limit) {
    var templateIds = templates(tenant).map(DictionaryEntry::id).collect(Collectors.toSet());
    return templates(tenant)
        .flatMap(
            entry ->
                Stream.ofNullable(entry.mergedInto())
                    .filter(templateIds::contains)
                    .map(into -> new TemplateLink(entry.id(), into)))
        .limit(limit)
        .toList();
  }

  private Stream<DictionaryEntry> templates(String tenant) {
    return dictionary.entries().stream()
        .filter(entry -> entry.kind() == EntryKind.TEMPLATE && entry.tenant().equals(tenant));
  }

  @Override
  public synchronized List<TemplateCount> counts(TemplateQuery query) {
    var groups = new HashMap<Group, long[]>();
    counts.forEach(
        (row, logs) -> {
          if (matches(row, query)) {
            var sums =
                groups.computeIfAbsent(
                    new Group(row.template(), row.service(), row.severity()), _ -> new long[2]);
            sums[row.minute() < query.minuteRange().from() ? 1 : 0] += logs;
          }
        });
    if (groups.size() > MAX_COUNTS) {
      throw new QueryTooExpensiveException("more than %d counts".formatted(MAX_COUNTS));
    }
    var found = new ArrayList<TemplateCount>();
    groups.forEach(
        (group, sums) ->
            found.add(
                new TemplateCount(
                    group.template(), group.service(), group.severity(), sums[0], sums[1])));
    return found;
  }

  private static boolean matches(Row row, TemplateQuery query) {
    var minuteRange = query.minuteRange();
    return row.tenant().equals(query.tenant())
        && (query.service() == null || query.service().equals(row.service()))
        && (query.severities().isEmpty() || query.severities().contains(row.severity()))
        && row.severity() >= query.minSeverity()
        && row.minute() >= minuteRange.precedingFrom()
        && row.minute() < minuteRange.to()
        && (query.ids().isEmpty() || query.ids().contains(row.template()));
  }

  @Override
  public synchronized Map<UUID, MinuteRange> activeRanges(
      String tenant, @Nullable String service, Collection<UUID> ids) {
    return serviceActivity(tenant, service, ids).stream()
        .collect(
            Collectors.toMap(
                ServiceActivity::id, ServiceActivity::minuteRange, MinuteRange::union));
  }

  @Override
  public synchronized List<ServiceActivity> serviceActivity(
      String tenant, @Nullable String service, Collection<UUID> ids) {
    var templateIds = Set.copyOf(ids);
    var activity = new HashMap<List<Object>, ServiceActivity>();
    counts.keySet().stream()
        .filter(row -> row.tenant().equals(tenant) && templateIds.contains(row.template()))
        .filter(row -> service == null || service.equals(row.service()))
        .map(
            row ->
                new ServiceActivity(
                    row.template(), row.service(), new MinuteRange(row.minute(), row.minute() + 1)))
        .forEach(
            each ->
                activity.merge(
                    List.of(each.id(), each.service()),
                    each,
                    (one, other) ->
                        new ServiceActivity(
                            one.id(),
                            one.service(),
                            one.minuteRange().union(other.minuteRange()))));
    return List.copyOf(activity.values());
  }

  @Override
  public synchronized List<CountBucket> countBuckets(TemplateQuery query, BucketLayout layout) {
    requireIds(query);
    var buckets = new HashMap<List<Object>, CountBucket>();
    counts.forEach(
        (row, logs) -> {
          if (matches(row, query) && isIn(layout, row)) {
            long minute = row.minute();
            long bucket =
                minute < query.minuteRange().from()
                    ? CountBucket.PRECEDING
                    : bucketIndex(layout, minute);
            boolean last = minute == query.minuteRange().to() - 1;
            buckets.merge(
                List.of(row.template(), row.service(), row.severity(), bucket, last),
                new CountBucket(
                    row.template(), row.service(), row.severity(), bucket, logs, minute, minute),
                InMemoryTemplateStats::merge);
          }
        });
    return List.copyOf(buckets.values());
  }

  private static boolean isIn(BucketLayout layout, Row row) {
    return layout
        .templatesByService()
        .getOrDefault(row.service(), Set.of())
        .contains(row.template());
  }

  /**
   * Returns the bucket of a minute. Minutes after the last bucket are counted in the last bucket,
   * those before the first in the first.
   */
  private static long bucketIndex(BucketLayout layout, long minute) {
    return Math.clamp(
        Math.floorDiv(minute - layout.firstMinute(), layout.bucketMinutes()),
        0,
        layout.bucketCount() - 1);
  }

  private static CountBucket merge(CountBucket one, CountBucket other) {
    return new CountBucket(
        one.id(),
        one.service(),
        one.severityNumber(),
        one.bucket(),
        one.count() + other.count(),
        Math.min(one.firstMinute(), other.firstMinute()),
        Math.max(one.lastMinute(), other.lastMinute()));
  }

  /** Makes {@link #latestSamples} fail as too expensive. */
  public synchronized void failLatestAsTooExpensive() {
    latestTooExpensive = true;
  }

  /** Returns the highest number of templates in one call of {@link #latestSamples}. */
  public synchronized int maxLatestIds() {
    return maxLatestIds;
  }

  /** Returns the number of calls of {@link #newestLogs}. */
  public synchronized int newestCalls() {
    return newestCalls;
  }

  /**
   * Returns the number of logs in the time slices of all {@link #newestLogs} calls, of any
   * template.
   */
  public synchronized long scannedLogs() {
    return scannedLogs;
  }

  @Override
  public synchronized List<SampleLog> latestSamples(TemplateQuery query) {
    requireIds(query);
    maxLatestIds = Math.max(maxLatestIds, query.ids().size());
    if (latestTooExpensive) {
      throw new QueryTooExpensiveException("more samples than allowed");
    }
    var latest = new HashMap<UUID, SampleLog>();
    logs.stream()
        .filter(TenantLog::inTail)
        .filter(log -> matches(row(log.tenant(), log.sample()), withoutTimeRange(query)))
        .map(TenantLog::sample)
        .forEach(log -> latest.merge(log.template(), log, BinaryOperator.maxBy(BY_TIME)));
    return List.copyOf(latest.values());
  }

  private static void requireIds(TemplateQuery query) {
    if (query.ids().isEmpty()) {
      throw new IllegalArgumentException("the query has no templates");
    }
  }

  private static TemplateQuery withoutTimeRange(TemplateQuery query) {
    return new TemplateQuery(
        query.tenant(),
        query.service(),
        query.severities(),
        query.minSeverity(),
        MinuteRange.ALL,
        query.ids());
  }

  private static Row row(String tenant, SampleLog log) {
    return new Row(
        tenant,
        log.service(),
        log.template(),
        log.severityNumber(),
        MinuteRange.minuteOf(log.timeNanos()));
  }

  /** {@inheritDoc} This implementation has neither messages nor attributes. */
  @Override
  public synchronized List<SampleLog> newestLogs(
      LogFilter filter, List<TimeSlice> slices, int limitPerTemplate) {
    var left = new HashMap<UUID, Integer>();
    var ids = slices.stream().map(TimeSlice::template).collect(Collectors.toSet());
    var candidates =
        logs.stream()
            .filter(log -> log.tenant().equals(filter.tenant()))
            .map(TenantLog::sample)
            .filter(log -> matches(log, filter))
            .filter(log -> slices.stream().anyMatch(slice -> isIn(slice, log)))
            .toList();
    newestCalls++;
    scannedLogs += candidates.size();
    return candidates.stream()
        .filter(log -> ids.contains(log.template()))
        .sorted(BY_TIME.reversed())
        .filter(log -> left.merge(log.template(), 1, Integer::sum) <= limitPerTemplate)
        .toList();
  }

  private static boolean matches(SampleLog log, LogFilter filter) {
    var from = filter.fromNanos();
    var to = filter.toNanos();
    return (filter.service() == null || filter.service().equals(log.service()))
        && (filter.severities().isEmpty() || filter.severities().contains(log.severityNumber()))
        && log.severityNumber() >= filter.minSeverity()
        && (from == null || log.timeNanos() >= from)
        && (to == null || log.timeNanos() < to);
  }

  /** Whether the log is in the slice. A log of another template matches too, as the port allows. */
  private static boolean isIn(TimeSlice slice, SampleLog log) {
    return (slice.service() == null || slice.service().equals(log.service()))
        && slice.fromNanos() <= log.timeNanos()
        && log.timeNanos() <= slice.lastNanos();
  }
}
