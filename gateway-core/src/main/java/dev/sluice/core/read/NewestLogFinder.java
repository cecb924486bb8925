package dev.sluice.core.read;

import dev.sluice.core.port.LogReader.QueryTooExpensiveException;
import dev.sluice.core.port.TemplateStats;
import dev.sluice.core.port.TemplateStats.CountBucket;
import dev.sluice.core.port.TemplateStats.MinuteRange;
import dev.sluice.core.port.TemplateStats.SampleLog;
import dev.sluice.core.port.TemplateStats.ServiceActivity;
import dev.sluice.core.port.TemplateStats.TemplateQuery;
import dev.sluice.core.port.TemplateStats.TimeSlice;
import dev.sluice.core.query.LogFilter;
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
 * The newest logs of a few templates: those that the store keeps at hand, or else looked for among
 * all logs, in the minutes of which the counts say that they are there.
 *
 * <p>Safe for use by many threads; all methods block.
 */
final class NewestLogFinder {
  /** For each log that is looked for, so many are in the minutes that are looked through. */
  private static final long OVERSCAN_FACTOR = 4;

  /** Of the table, in one question. */
  private static final int MAX_RANGES = 400;

  /**
   * How surely a log is in the while before an end: it has none once in a hundred and fifty times
   * ({@code exp(-5)}), and so for one of ten templates in one answer of sixteen at most.
   */
  private static final double EXPECTED_LOGS = 5;

  /** Templates whose logs at hand are read at once, each of up to 4,000 characters. */
  private static final int MAX_SAMPLED_TEMPLATES = 400;

  private static final Comparator<SampleLog> BY_TIME =
      Comparator.comparingLong(SampleLog::timeNanos);

  private final TemplateStats templates;

  NewestLogFinder(TemplateStats templates) {
    this.templates = templates;
  }

  /**
   * @param templateQuery which logs are counted, of whole minutes and whatever attributes they have
   * @param filter which logs are shown
   * @param groups the templates of the question, each with the one that stands for it
   * @param maxLogs logs of each of these at most, from 1
   */
  record Lookup(
      TemplateQuery templateQuery, LogFilter filter, Map<UUID, UUID> groups, int maxLogs) {
    /** Whether the time asked for ends in this minute, and not after all of it. */
    private boolean endsWithin(long minute) {
      var to = filter.toNanos();
      return to != null
          && MinuteRange.minuteOf(to) == minute
          && to > MinuteRange.startNanos(minute);
    }

    /** From when on a log comes into question. */
    private long earliest(TailWindow tail) {
      var from = filter.fromNanos();
      return from == null ? tail.fromNanos : Math.max(from, tail.fromNanos);
    }

    private UUID canonicalOf(UUID template) {
      return Objects.requireNonNull(groups.get(template));
    }
  }

  /**
   * None where more than the newest is asked for, or one that has an attribute; nor where too many
   * became these few. Of what came after the time asked for too, a later one is at hand.
   *
   * @param activity when and where the templates came
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
   * The newest first; none of what would cost too much to look for, since what else is told of a
   * template is worth having without.
   *
   * @param bucketsByTemplate in which they came within the time asked for, by what stands for them
   * @param latestSamples what {@link #latestSamples} gave
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
      // those that were found are told
    }
    return newest;
  }

  /** The minute of the last of all. */
  private static long lastMinute(List<CountBucket> buckets) {
    return buckets.stream().mapToLong(CountBucket::lastMinute).max().orElseThrow();
  }

  private static boolean isNewest(SampleLog log, long last, LogFilter filter) {
    var to = filter.toNanos();
    return MinuteRange.minuteOf(log.timeNanos()) >= last && (to == null || log.timeNanos() < to);
  }

  /**
   * Where the newest log of a template is looked for.
   *
   * @param minutes in which it came
   * @param fromNanos not before this instant
   */
  private record TailWindow(Set<Long> minutes, long fromNanos) {
    /** What is in the place of another may not be the newest, unless none was counted since. */
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
   * First of all in so short a while before the end that surely some are in it, if they come as
   * evenly as they were counted: at full rate each second has thousands of others, which are read
   * too. If none is in it after all, in all the minutes in which it came last.
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
   * The minute of the last of all. Where the time ends within it, a template that came in it may
   * have come after the end, which counts do not tell: then the last minute before too.
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
   * From when on a log is surely to be expected until the end of the time, if they come evenly; 0
   * where that says nothing, since it did not come until then.
   */
  private static long expectedFrom(Lookup lookup, Set<Long> minutes, List<CountBucket> buckets) {
    var to = lookup.filter.toNanos();
    if (to == null || MinuteRange.minuteOf(to - 1) != Collections.max(minutes)) {
      return 0;
    }
    double logs = 0;
    long counted = 0;
    for (long minute : minutes) {
      long width = 1;
      for (var each : buckets) {
        if (each.lastMinute() == minute) {
          logs += each.count();
          width = Math.max(width, each.lastMinute() - each.firstMinute() + 1);
        }
      }
      counted += width;
    }
    // of as many logs anywhere in these minutes none is in a share with (1 - share) ^ logs
    double share = -Math.expm1(-EXPECTED_LOGS / logs);
    long from = to - (long) (share * counted * MinuteRange.startNanos(1));
    // between two minutes that are apart it did not come
    boolean inactive = minutes.stream().noneMatch(each -> each == MinuteRange.minuteOf(from));
    return inactive ? 0 : from;
  }

  /**
   * @param tails in which to look for the newest of each; the others are not looked for
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

  /** The latest first; in all services at once where they are too many. */
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

  /** The minutes of which not all logs come into question. */
  private static Set<Long> partialMinutes(LogFilter filter) {
    return Stream.of(filter.fromNanos(), filter.toNanos())
        .filter(Objects::nonNull)
        .filter(nanos -> nanos > MinuteRange.startNanos(MinuteRange.minuteOf(nanos)))
        .map(MinuteRange::minuteOf)
        .collect(Collectors.toSet());
  }

  /**
   * The last minutes, until there are surely as many logs in them as are wanted, and none of the
   * rest is newer.
   *
   * @param partialMinutes the minutes of which not all logs come into question
   */
  private static List<TimeSlice> latestSlices(
      List<CountBucket> buckets, int wanted, Set<Long> partialMinutes, int maxSlices) {
    var latestFirst =
        buckets.stream()
            .sorted(Comparator.comparingLong(CountBucket::lastMinute).reversed())
            .toList();
    var slices = new ArrayList<TimeSlice>();
    long found = 0;
    long earliest = Long.MAX_VALUE;
    for (var each : latestFirst) {
      if (slices.size() == maxSlices || (found >= wanted && each.lastMinute() < earliest)) {
        break;
      }
      long all = each.lastMinute() - each.firstMinute() + 1;
      boolean complete =
          !partialMinutes.contains(each.lastMinute())
              && !partialMinutes.contains(each.firstMinute());
      // one that is cut may have none of them
      long minMinutes = complete ? 1 : 2;
      long minutes =
          Math.min(all, Math.max(minMinutes, OVERSCAN_FACTOR * wanted * all / each.count()));
      long first = each.lastMinute() - minutes + 1;
      slices.add(
          TimeSlice.of(each.id(), each.service(), new MinuteRange(first, each.lastMinute() + 1)));
      // of a part of its minutes no more is known than that there is one in the last
      found += !complete ? 0 : minutes == all ? each.count() : 1;
      earliest = Math.min(earliest, first);
    }
    return slices;
  }

  /** Which logs have an attribute is not counted, so all that there are have to be looked at. */
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
