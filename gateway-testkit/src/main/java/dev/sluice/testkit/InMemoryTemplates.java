package dev.sluice.testkit;

import dev.sluice.core.domain.LogId;
import dev.sluice.core.port.Dictionary.DictionaryEntry;
import dev.sluice.core.port.Dictionary.EntryKind;
import dev.sluice.core.port.LogReader.QueryTooExpensiveException;
import dev.sluice.core.port.TemplateStats;
import dev.sluice.core.query.LogFilter;
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
 * Reads the templates of a dictionary in memory, and counts what it is told of.
 *
 * <p>Safe for use by many threads; its counts are guarded by this object.
 */
public final class InMemoryTemplates implements TemplateStats {
  private static final Comparator<SampleLog> BY_TIME =
      Comparator.comparingLong(SampleLog::timeNanos).thenComparingLong(log -> log.id().low());

  private record Row(String tenant, String service, UUID template, int severity, long minute) {}

  private record Log(String tenant, SampleLog told, boolean atHand) {}

  private record Group(UUID template, String service, int severity) {}

  private final InMemoryDictionary dictionary;
  private final Map<Row, Long> counts = new HashMap<>();
  private final List<Log> logs = new ArrayList<>();
  private boolean latestTooCostly;
  private int latestOfMost;
  private int newestAsked;
  private long lookedThrough;

  public InMemoryTemplates(InMemoryDictionary dictionary) {
    this.dictionary = dictionary;
  }

  /** A log was stored. */
  public void count(String tenant, String service, UUID template, int severity, long timeNanos) {
    count(tenant, service, template, severity, timeNanos, true);
  }

  /**
   * A log was stored.
   *
   * @param atHand whether {@link #latestSamples} knows of it
   */
  public synchronized void count(
      String tenant, String service, UUID template, int severity, long timeNanos, boolean atHand) {
    counts.merge(
        new Row(tenant, service, template, severity, MinuteRange.minuteOf(timeNanos)),
        1L,
        Long::sum);
    var id = new LogId(0, logs.size() + 1);
    logs.add(
        new Log(tenant, new SampleLog(template, id, timeNanos, severity, service, ""), atHand));
  }

  @Override
  public List<TemplateLink> links(String tenant, int limit) {
    var there = templates(tenant).map(DictionaryEntry::id).collect(Collectors.toSet());
    return templates(tenant)
        .flatMap(
            entry ->
                Stream.ofNullable(entry.mergedInto())
                    .filter(there::contains)
                    .map(into -> new TemplateLink(entry.id(), into)))
        .limit(limit)
        .toList();
  }

  private Stream<DictionaryEntry> templates(String tenant) {
    return dictionary.entries().stream()
        .filter(entry -> entry.kind() == EntryKind.TEMPLATE && entry.tenant().equals(tenant));
  }

  @Override
  public synchronized List<TemplateCount> counts(TemplateQuery question) {
    var groups = new HashMap<Group, long[]>();
    counts.forEach(
        (row, logs) -> {
          if (isAskedFor(row, question)) {
            var sums =
                groups.computeIfAbsent(
                    new Group(row.template(), row.service(), row.severity()), _ -> new long[2]);
            sums[row.minute() < question.minuteRange().from() ? 1 : 0] += logs;
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

  private static boolean isAskedFor(Row row, TemplateQuery question) {
    var minuteRange = question.minuteRange();
    return row.tenant().equals(question.tenant())
        && (question.service() == null || question.service().equals(row.service()))
        && (question.severities().isEmpty() || question.severities().contains(row.severity()))
        && row.severity() >= question.minSeverity()
        && row.minute() >= minuteRange.precedingFrom()
        && row.minute() < minuteRange.to()
        && (question.ids().isEmpty() || question.ids().contains(row.template()));
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
    var wanted = Set.copyOf(ids);
    var seen = new HashMap<List<Object>, ServiceActivity>();
    counts.keySet().stream()
        .filter(row -> row.tenant().equals(tenant) && wanted.contains(row.template()))
        .filter(row -> service == null || service.equals(row.service()))
        .map(
            row ->
                new ServiceActivity(
                    row.template(), row.service(), new MinuteRange(row.minute(), row.minute() + 1)))
        .forEach(
            each ->
                seen.merge(
                    List.of(each.id(), each.service()),
                    each,
                    (one, other) ->
                        new ServiceActivity(
                            one.id(),
                            one.service(),
                            one.minuteRange().union(other.minuteRange()))));
    return List.copyOf(seen.values());
  }

  @Override
  public synchronized List<CountBucket> countBuckets(TemplateQuery question, BucketLayout frame) {
    requireIds(question);
    var stretches = new HashMap<List<Object>, CountBucket>();
    counts.forEach(
        (row, logs) -> {
          if (isAskedFor(row, question) && isIn(frame, row)) {
            long minute = row.minute();
            long span =
                minute < question.minuteRange().from()
                    ? CountBucket.PRECEDING
                    : span(frame, minute);
            boolean last = minute == question.minuteRange().to() - 1;
            stretches.merge(
                List.of(row.template(), row.service(), row.severity(), span, last),
                new CountBucket(
                    row.template(), row.service(), row.severity(), span, logs, minute, minute),
                InMemoryTemplates::together);
          }
        });
    return List.copyOf(stretches.values());
  }

  private static boolean isIn(BucketLayout frame, Row row) {
    return frame
        .templatesByService()
        .getOrDefault(row.service(), Set.of())
        .contains(row.template());
  }

  /** Of minutes that came after the frame was made, the last. */
  private static long span(BucketLayout frame, long minute) {
    return Math.clamp(
        Math.floorDiv(minute - frame.firstMinute(), frame.bucketMinutes()),
        0,
        frame.bucketCount() - 1);
  }

  private static CountBucket together(CountBucket one, CountBucket other) {
    return new CountBucket(
        one.id(),
        one.service(),
        one.severityNumber(),
        one.bucket(),
        one.count() + other.count(),
        Math.min(one.firstMinute(), other.firstMinute()),
        Math.max(one.lastMinute(), other.lastMinute()));
  }

  /** From now on what {@link #latestSamples} is asked costs too much. */
  public synchronized void makeLatestTooCostly() {
    latestTooCostly = true;
  }

  /** Of how many templates {@link #latestSamples} was asked at most. */
  public synchronized int latestOfMost() {
    return latestOfMost;
  }

  /** How often {@link #newestLogs} was asked. */
  public synchronized int newestAsked() {
    return newestAsked;
  }

  /** How many logs were where {@link #newestLogs} was asked to look, of whichever template. */
  public synchronized long lookedThrough() {
    return lookedThrough;
  }

  @Override
  public synchronized List<SampleLog> latestSamples(TemplateQuery question) {
    requireIds(question);
    latestOfMost = Math.max(latestOfMost, question.ids().size());
    if (latestTooCostly) {
      throw new QueryTooExpensiveException("more than may be at hand");
    }
    var latest = new HashMap<UUID, SampleLog>();
    logs.stream()
        .filter(Log::atHand)
        .filter(log -> isAskedFor(row(log.tenant(), log.told()), ofAllTimes(question)))
        .map(Log::told)
        .forEach(log -> latest.merge(log.template(), log, BinaryOperator.maxBy(BY_TIME)));
    return List.copyOf(latest.values());
  }

  private static void requireIds(TemplateQuery question) {
    if (question.ids().isEmpty()) {
      throw new IllegalArgumentException("of no templates");
    }
  }

  private static TemplateQuery ofAllTimes(TemplateQuery question) {
    return new TemplateQuery(
        question.tenant(),
        question.service(),
        question.severities(),
        question.minSeverity(),
        MinuteRange.ALL,
        question.ids());
  }

  private static Row row(String tenant, SampleLog log) {
    return new Row(
        tenant,
        log.service(),
        log.template(),
        log.severityNumber(),
        MinuteRange.minuteOf(log.timeNanos()));
  }

  /** {@inheritDoc} Neither messages nor attributes are known here. */
  @Override
  public synchronized List<SampleLog> newestLogs(
      LogFilter filter, List<TimeSlice> places, int each) {
    var left = new HashMap<UUID, Integer>();
    var ids = places.stream().map(TimeSlice::template).collect(Collectors.toSet());
    var there =
        logs.stream()
            .filter(log -> log.tenant().equals(filter.tenant()))
            .map(Log::told)
            .filter(log -> isAskedFor(log, filter))
            .filter(log -> places.stream().anyMatch(place -> isIn(place, log)))
            .toList();
    newestAsked++;
    lookedThrough += there.size();
    return there.stream()
        .filter(log -> ids.contains(log.template()))
        .sorted(BY_TIME.reversed())
        .filter(log -> left.merge(log.template(), 1, Integer::sum) <= each)
        .toList();
  }

  private static boolean isAskedFor(SampleLog log, LogFilter filter) {
    var from = filter.fromNanos();
    var to = filter.toNanos();
    return (filter.service() == null || filter.service().equals(log.service()))
        && (filter.severities().isEmpty() || filter.severities().contains(log.severityNumber()))
        && log.severityNumber() >= filter.minSeverity()
        && (from == null || log.timeNanos() >= from)
        && (to == null || log.timeNanos() < to);
  }

  /** What is in the place of another is found too, as it may be. */
  private static boolean isIn(TimeSlice place, SampleLog log) {
    return (place.service() == null || place.service().equals(log.service()))
        && place.fromNanos() <= log.timeNanos()
        && log.timeNanos() <= place.lastNanos();
  }
}
