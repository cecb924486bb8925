package dev.sluice.query.read;

import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.LogReader.QueryTooExpensiveException;
import dev.sluice.query.port.TemplateStats;
import dev.sluice.query.port.TemplateStats.CountBucket;
import dev.sluice.query.port.TemplateStats.MinuteRange;
import dev.sluice.query.port.TemplateStats.SampleLog;
import dev.sluice.query.port.TemplateStats.ServiceActivity;
import dev.sluice.query.port.TemplateStats.TemplateQuery;
import dev.sluice.query.port.TemplateStats.TimeSlice;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import java.util.function.BinaryOperator;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Finds the newest log records of a few templates: first among the latest samples that the store
 * keeps per template, and otherwise in the log table, in the minutes in which the counts show
 * records.
 *
 * <p>Safe for use by many threads; all methods block.
 */
final class NewestLogFinder {
  /** Number of records expected in the searched minutes, for each record that the caller wants. */
  private static final long OVERSCAN_FACTOR = 4;

  /** Maximum number of time slices, and so of ranges of the log table, in one query. */
  private static final int MAX_RANGES = 400;

  /**
   * Number of records expected in the tail of a time range that is searched first. With evenly
   * distributed records the tail has none with a probability of {@code exp(-5)}, about 1 in 150; so
   * at most about one of 15 results with ten templates needs a second query.
   */
  private static final double EXPECTED_LOGS = 5;

  /**
   * Maximum number of templates whose latest samples are read in one query; the body of each sample
   * has up to 4,000 characters.
   */
  private static final int MAX_SAMPLED_TEMPLATES = 400;

  private static final Comparator<SampleLog> BY_TIME =
      Comparator.comparingLong(SampleLog::timeNanos);

  private final TemplateStats templates;

  NewestLogFinder(TemplateStats templates) {
    this.templates = templates;
  }

  /**
   * @param templateQuery the records to count, in whole minutes and without a filter by attributes
   * @param filter the records to return
   * @param groups the queried templates, each with its canonical template
   * @param maxLogs maximum number of records per canonical template, at least 1
   */
  record Lookup(
      TemplateQuery templateQuery, LogFilter filter, Map<UUID, UUID> groups, int maxLogs) {
    /** Whether the queried time range ends within this minute, before the end of the minute. */
    private boolean endsWithin(long minute) {
      var to = filter.toNanos();
      return to != null
          && MinuteRange.minuteOf(to) == minute
          && to > MinuteRange.startNanos(minute);
    }

    /** Returns the first instant at which a record of the tail matches the filter. */
    private long earliest(TailWindow tail) {
      var from = filter.fromNanos();
      return from == null ? tail.fromNanos : Math.max(from, tail.fromNanos);
    }

    private UUID canonicalOf(UUID template) {
      return Objects.requireNonNull(groups.get(template));
    }
  }

  /**
   * Returns the latest samples of the templates. The result is empty when the caller wants more
   * than one record per template, when the filter has attribute conditions, when the groups have
   * more than {@link #MAX_SAMPLED_TEMPLATES} templates, or when the query is too expensive. A
   * template whose group has records after the queried time range is left out, since its sample is
   * later than the range.
   *
   * @param activity the services and minutes in which the templates have records
   */
  List<SampleLog> latestSamples(Lookup lookup, List<ServiceActivity> activity)
      throws InterruptedException {
    if (lookup.maxLogs > 1
        || !lookup.filter.attributes().isEmpty()
        || lookup.groups.size() > MAX_SAMPLED_TEMPLATES) {
      return List.of();
    }
    long end = lookup.templateQuery.minuteRange().to();
    var later =
        activity.stream()
            .filter(each -> each.minuteRange().to() > end)
            .map(each -> lookup.canonicalOf(each.id()))
            .collect(Collectors.toSet());
    var ids =
        activity.stream()
            .map(ServiceActivity::id)
            .filter(id -> !later.contains(lookup.canonicalOf(id)))
            .collect(Collectors.toSet());
    try {
      return ids.isEmpty() ? List.of() : templates.latestSamples(lookup.templateQuery.withIds(ids));
    } catch (QueryTooExpensiveException _) {
      return List.of();
    }
  }

  /**
   * Returns the newest records of each canonical template, newest first. A template is missing from
   * the result when the search for it is too expensive, since the rest of its summary is useful
   * without records.
   *
   * @param bucketsByTemplate the counts within the queried time range, by canonical template
   * @param latestSamples the result of {@link #latestSamples}
   */
  Map<UUID, List<SampleLog>> find(
      Lookup lookup, Map<UUID, List<CountBucket>> bucketsByTemplate, List<SampleLog> latestSamples)
      throws InterruptedException {
    var latest =
        latestSamples.stream()
            .collect(
                Collectors.toMap(
                    log -> lookup.canonicalOf(log.template()),
                    log -> log,
                    BinaryOperator.maxBy(BY_TIME)));
    var newest = new HashMap<UUID, List<SampleLog>>();
    var others = new HashMap<UUID, List<CountBucket>>();
    bucketsByTemplate.forEach(
        (canonicalId, each) -> {
          var log = latest.get(canonicalId);
          if (each.isEmpty()) {
            newest.put(canonicalId, List.of());
          } else if (log == null || !isNewest(log, lastMinute(each), lookup.filter)) {
            others.put(canonicalId, each);
          } else {
            var from = lookup.filter.fromNanos();
            newest.put(
                canonicalId, from == null || log.timeNanos() >= from ? List.of(log) : List.of());
          }
        });
    try {
      if (!lookup.filter.attributes().isEmpty()) {
        newest.putAll(query(lookup, allSlices(others.values())));
      } else if (lookup.maxLogs > 1) {
        newest.putAll(query(lookup, latestSlices(lookup, others.values())));
      } else {
        findLatest(lookup, others, newest);
      }
    } catch (QueryTooExpensiveException _) {
      // The result has the templates that were found until then.
    }
    return newest;
  }

  /** Returns the latest minute that has records. */
  private static long lastMinute(List<CountBucket> buckets) {
    return buckets.stream().mapToLong(CountBucket::lastMinute).max().orElseThrow();
  }

  private static boolean isNewest(SampleLog log, long last, LogFilter filter) {
    var to = filter.toNanos();
    return MinuteRange.minuteOf(log.timeNanos()) >= last && (to == null || log.timeNanos() < to);
  }

  /**
   * The time window in which the newest record of a template is searched.
   *
   * @param minutes the minutes in which the template has records
   * @param fromNanos the first instant of the window
   */
  private record TailWindow(Set<Long> minutes, long fromNanos) {
    /**
     * Whether the record is the newest one of its template. A record that was found in the slice of
     * another template is the newest one only if no record of its template was counted after it.
     */
    private boolean isNewest(SampleLog log) {
      long minute = MinuteRange.minuteOf(log.timeNanos());
      return minutes.contains(minute)
          ? log.timeNanos() >= fromNanos
          : minutes.stream().allMatch(each -> each < minute);
    }

    private TimeSlice sliceOf(CountBucket bucket) {
      return new TimeSlice(
          bucket.id(),
          bucket.service(),
          Math.max(fromNanos, MinuteRange.startNanos(bucket.lastMinute())),
          MinuteRange.startNanos(bucket.lastMinute() + 1));
    }
  }

  /**
   * Searches a short tail before the end of the time range first, which is expected to have {@link
   * #EXPECTED_LOGS} records if the records are distributed as evenly as they were counted: at a
   * high rate each second has thousands of other records, which the store reads too. For a template
   * without a record in the tail, searches all of its latest minutes.
   */
  private void findLatest(
      Lookup lookup, Map<UUID, List<CountBucket>> others, Map<UUID, List<SampleLog>> newest)
      throws InterruptedException {
    var likely = new HashMap<UUID, TailWindow>();
    var certain = new HashMap<UUID, TailWindow>();
    others.forEach(
        (canonicalId, each) -> {
          var tail = tail(lookup, each);
          long from = expectedFrom(lookup, tail.minutes, each);
          if (from > lookup.earliest(tail)) {
            certain.put(canonicalId, tail);
          }
          likely.put(canonicalId, new TailWindow(tail.minutes, Math.max(from, tail.fromNanos)));
        });
    newest.putAll(queryNewest(lookup, others, likely));
    certain.keySet().removeAll(newest.keySet());
    newest.putAll(queryNewest(lookup, others, certain));
  }

  /**
   * Returns the window of the latest minute that has records. If the time range ends within that
   * minute, all records of the minute may be after the end, which the counts do not show; the
   * window then also has the latest minute before it.
   */
  private static TailWindow tail(Lookup lookup, List<CountBucket> buckets) {
    long last = lastMinute(buckets);
    var minutes = new HashSet<>(Set.of(last));
    if (lookup.endsWithin(last)) {
      lastBefore(last, buckets).ifPresent(minutes::add);
    }
    return new TailWindow(minutes, MinuteRange.startNanos(Collections.min(minutes)));
  }

  private static OptionalLong lastBefore(long minute, List<CountBucket> buckets) {
    return buckets.stream().mapToLong(CountBucket::lastMinute).filter(last -> last < minute).max();
  }

  /**
   * Returns the instant from which on {@link #EXPECTED_LOGS} records are expected until the end of
   * the time range, if the records are distributed evenly; 0 if the counts allow no such estimate,
   * because the latest minute with records is not the last minute of the range, or because the
   * instant is in a minute without records.
   */
  private static long expectedFrom(Lookup lookup, Set<Long> minutes, List<CountBucket> buckets) {
    var to = lookup.filter.toNanos();
    if (to == null || MinuteRange.minuteOf(to - 1) != Collections.max(minutes)) {
      return 0;
    }
    double logs = 0;
    long countedMinutes = 0;
    for (long minute : minutes) {
      long width = 1;
      for (var each : buckets) {
        if (each.lastMinute() == minute) {
          logs += each.count();
          width = Math.max(width, each.lastMinute() - each.firstMinute() + 1);
        }
      }
      countedMinutes += width;
    }
    // With n records distributed evenly over these minutes, a given share of the time has no record
    // with the probability (1 - share) ^ n.
    double share = -Math.expm1(-EXPECTED_LOGS / logs);
    long from = to - (long) (share * countedMinutes * MinuteRange.startNanos(1));
    // The instant may be between two minutes that are apart, where the template has no records.
    boolean inactive = minutes.stream().noneMatch(each -> each == MinuteRange.minuteOf(from));
    return inactive ? 0 : from;
  }

  /**
   * @param tails the window in which to search for the newest record of each canonical template;
   *     templates without a window are not searched
   */
  private Map<UUID, List<SampleLog>> queryNewest(
      Lookup lookup, Map<UUID, List<CountBucket>> bucketsByTemplate, Map<UUID, TailWindow> tails)
      throws InterruptedException {
    int maxSlices = MAX_RANGES / Math.clamp(tails.size(), 1, MAX_RANGES);
    var slices = new ArrayList<TimeSlice>();
    tails.forEach(
        (canonicalId, tail) ->
            slices.addAll(
                toSlices(bucketsByTemplate.getOrDefault(canonicalId, List.of()), tail, maxSlices)));
    var newest = new HashMap<UUID, List<SampleLog>>();
    query(lookup, slices)
        .forEach(
            (canonicalId, logs) -> {
              var tail = tails.get(canonicalId);
              if (tail != null && tail.isNewest(logs.getFirst())) {
                newest.put(canonicalId, logs);
              }
            });
    return newest;
  }

  /**
   * Returns the slices of the window, latest first; if there are more than {@code maxSlices},
   * slices without a service replace the slices of the single services.
   */
  private static List<TimeSlice> toSlices(
      List<CountBucket> buckets, TailWindow tail, int maxSlices) {
    var slices =
        buckets.stream()
            .filter(each -> tail.minutes.contains(each.lastMinute()))
            .sorted(Comparator.comparingLong(CountBucket::lastMinute).reversed())
            .map(tail::sliceOf)
            .filter(each -> each.fromNanos() < each.toNanos())
            .distinct()
            .toList();
    return slices.size() <= maxSlices
        ? slices
        : slices.stream()
            .map(each -> new TimeSlice(each.template(), null, each.fromNanos(), each.toNanos()))
            .distinct()
            .limit(maxSlices)
            .toList();
  }

  private static List<TimeSlice> latestSlices(
      Lookup lookup, Collection<List<CountBucket>> buckets) {
    var partialMinutes = partialMinutes(lookup.filter);
    int maxSlices = MAX_RANGES / Math.clamp(buckets.size(), 1, MAX_RANGES);
    return buckets.stream()
        .flatMap(each -> latestSlices(each, lookup.maxLogs, partialMinutes, maxSlices).stream())
        .toList();
  }

  /** Returns the minutes of which only a part is in the time range of the filter. */
  private static Set<Long> partialMinutes(LogFilter filter) {
    return Stream.of(filter.fromNanos(), filter.toNanos())
        .filter(Objects::nonNull)
        .filter(nanos -> nanos > MinuteRange.startNanos(MinuteRange.minuteOf(nanos)))
        .map(MinuteRange::minuteOf)
        .collect(Collectors.toSet());
  }

  /**
   * Returns slices of the latest minutes, until they have at least {@code maxLogs} records and no
   * earlier bucket can have a newer record.
   *
   * @param partialMinutes the minutes of which only a part is in the time range of the filter
   */
  private static List<TimeSlice> latestSlices(
      List<CountBucket> buckets, int maxLogs, Set<Long> partialMinutes, int maxSlices) {
    var latestFirst =
        buckets.stream()
            .sorted(Comparator.comparingLong(CountBucket::lastMinute).reversed())
            .toList();
    var slices = new ArrayList<TimeSlice>();
    long found = 0;
    long earliest = Long.MAX_VALUE;
    for (var each : latestFirst) {
      if (slices.size() == maxSlices || (found >= maxLogs && each.lastMinute() < earliest)) {
        break;
      }
      long all = each.lastMinute() - each.firstMinute() + 1;
      boolean complete =
          !partialMinutes.contains(each.lastMinute())
              && !partialMinutes.contains(each.firstMinute());
      // The records of a bucket with a partial minute may all be outside the time range.
      long minMinutes = complete ? 1 : 2;
      long minutes =
          Math.min(all, Math.max(minMinutes, OVERSCAN_FACTOR * maxLogs * all / each.count()));
      long first = each.lastMinute() - minutes + 1;
      slices.add(
          TimeSlice.of(each.id(), each.service(), new MinuteRange(first, each.lastMinute() + 1)));
      // For a part of the minutes of a bucket, only one record is certain, in its last minute.
      found += !complete ? 0 : minutes == all ? each.count() : 1;
      earliest = Math.min(earliest, first);
    }
    return slices;
  }

  /**
   * Returns one slice per template that spans all buckets: attributes are not counted, so that a
   * record with a given attribute can be in any minute.
   */
  private static List<TimeSlice> allSlices(Collection<List<CountBucket>> bucketLists) {
    var buckets = bucketLists.stream().flatMap(List::stream).toList();
    if (buckets.isEmpty()) {
      return List.of();
    }
    var minuteRange =
        new MinuteRange(
            buckets.stream().mapToLong(CountBucket::firstMinute).min().orElseThrow(),
            lastMinute(buckets) + 1);
    return buckets.stream()
        .map(CountBucket::id)
        .distinct()
        .limit(TemplateStats.MAX_TIME_SLICES)
        .map(id -> TimeSlice.of(id, null, minuteRange))
        .toList();
  }

  private Map<UUID, List<SampleLog>> query(Lookup lookup, List<TimeSlice> slices)
      throws InterruptedException {
    if (slices.isEmpty()) {
      return Map.of();
    }
    var newest = new HashMap<UUID, List<SampleLog>>();
    for (var log : templates.newestLogs(lookup.filter, slices, lookup.maxLogs)) {
      var logs = newest.computeIfAbsent(lookup.canonicalOf(log.template()), _ -> new ArrayList<>());
      if (logs.size() < lookup.maxLogs) {
        logs.add(log);
      }
    }
    return newest;
  }
}
