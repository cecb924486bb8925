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
final class NewestLogs {
  /** For each log that is looked for, so many are in the minutes that are looked through. */
  private static final long AMPLE = 4;

  /** Of the table, in one question. */
  private static final int MOST_RANGES = 400;

  /**
   * How surely a log is in the while before an end: it has none once in a hundred and fifty times
   * ({@code exp(-5)}), and so for one of ten templates in one answer of sixteen at most.
   */
  private static final double SURE = 5;

  /** Templates whose logs at hand are read at once, each of up to 4,000 characters. */
  private static final int MOST_AT_HAND = 400;

  private static final Comparator<SampleLog> BY_TIME =
      Comparator.comparingLong(SampleLog::timeNanos);

  private final TemplateStats templates;

  NewestLogs(TemplateStats templates) {
    this.templates = templates;
  }

  /**
   * @param templateQuery which logs are counted, of whole minutes and whatever attributes they have
   * @param filter which logs are shown
   * @param groups the templates of the question, each with the one that stands for it
   * @param most logs of each of these at most, from 1
   */
  record Asked(TemplateQuery templateQuery, LogFilter filter, Map<UUID, UUID> groups, int most) {
    /** Whether the time asked for ends in this minute, and not after all of it. */
    private boolean endsWithin(long minute) {
      var to = filter.toNanos();
      return to != null
          && MinuteRange.minuteOf(to) == minute
          && to > MinuteRange.startNanos(minute);
    }

    /** From when on a log comes into question. */
    private long earliest(Tail tail) {
      var from = filter.fromNanos();
      return from == null ? tail.fromNanos : Math.max(from, tail.fromNanos);
    }

    private UUID end(UUID template) {
      return Objects.requireNonNull(groups.get(template));
    }
  }

  /**
   * None where more than the newest is asked for, or one that has an attribute; nor where too many
   * became these few. Of what came after the time asked for too, a later one is at hand.
   *
   * @param seen when and where the templates came
   */
  List<SampleLog> atHand(Asked asked, List<ServiceActivity> seen) throws InterruptedException {
    if (asked.most > 1
        || !asked.filter.attributes().isEmpty()
        || asked.groups.size() > MOST_AT_HAND) {
      return List.of();
    }
    long end = asked.templateQuery.minuteRange().to();
    var later =
        seen.stream()
            .filter(each -> each.minuteRange().to() > end)
            .map(each -> asked.end(each.id()))
            .collect(Collectors.toSet());
    var ids =
        seen.stream()
            .map(ServiceActivity::id)
            .filter(id -> !later.contains(asked.end(id)))
            .collect(Collectors.toSet());
    try {
      return ids.isEmpty() ? List.of() : templates.latestSamples(asked.templateQuery.withIds(ids));
    } catch (QueryTooExpensiveException _) {
      return List.of();
    }
  }

  /**
   * The newest first; none of what would cost too much to look for, since what else is told of a
   * template is worth having without.
   *
   * @param stretches in which they came within the time asked for, by what stands for them
   * @param atHand what {@link #atHand} gave
   */
  Map<UUID, List<SampleLog>> of(
      Asked asked, Map<UUID, List<CountBucket>> stretches, List<SampleLog> atHand)
      throws InterruptedException {
    var latest =
        atHand.stream()
            .collect(
                Collectors.toMap(
                    log -> asked.end(log.template()), log -> log, BinaryOperator.maxBy(BY_TIME)));
    var newest = new HashMap<UUID, List<SampleLog>>();
    var others = new HashMap<UUID, List<CountBucket>>();
    stretches.forEach(
        (end, each) -> {
          var log = latest.get(end);
          if (each.isEmpty()) {
            newest.put(end, List.of());
          } else if (log == null || !isNewest(log, last(each), asked.filter)) {
            others.put(end, each);
          } else {
            var from = asked.filter.fromNanos();
            newest.put(end, from == null || log.timeNanos() >= from ? List.of(log) : List.of());
          }
        });
    try {
      if (!asked.filter.attributes().isEmpty()) {
        newest.putAll(lookedUp(asked, allPlaces(others.values())));
      } else if (asked.most > 1) {
        newest.putAll(lookedUp(asked, lastPlaces(asked, others.values())));
      } else {
        lookForOne(asked, others, newest);
      }
    } catch (QueryTooExpensiveException _) {
      // those that were found are told
    }
    return newest;
  }

  /** The minute of the last of all. */
  private static long last(List<CountBucket> stretches) {
    return stretches.stream().mapToLong(CountBucket::lastMinute).max().orElseThrow();
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
  private record Tail(Set<Long> minutes, long fromNanos) {
    /** What is in the place of another may not be the newest, unless none was counted since. */
    private boolean isNewest(SampleLog log) {
      long minute = MinuteRange.minuteOf(log.timeNanos());
      return minutes.contains(minute)
          ? log.timeNanos() >= fromNanos
          : minutes.stream().allMatch(each -> each < minute);
    }

    private TimeSlice placeOf(CountBucket stretch) {
      return new TimeSlice(
          stretch.id(),
          stretch.service(),
          Math.max(fromNanos, MinuteRange.startNanos(stretch.lastMinute())),
          MinuteRange.startNanos(stretch.lastMinute() + 1));
    }
  }

  /**
   * First of all in so short a while before the end that surely some are in it, if they come as
   * evenly as they were counted: at full rate each second has thousands of others, which are read
   * too. If none is in it after all, in all the minutes in which it came last.
   */
  private void lookForOne(
      Asked asked, Map<UUID, List<CountBucket>> others, Map<UUID, List<SampleLog>> newest)
      throws InterruptedException {
    var likely = new HashMap<UUID, Tail>();
    var certain = new HashMap<UUID, Tail>();
    others.forEach(
        (end, each) -> {
          var tail = tail(asked, each);
          long from = expectedFrom(asked, tail.minutes, each);
          if (from > asked.earliest(tail)) {
            certain.put(end, tail);
          }
          likely.put(end, new Tail(tail.minutes, Math.max(from, tail.fromNanos)));
        });
    newest.putAll(newestIn(asked, others, likely));
    certain.keySet().removeAll(newest.keySet());
    newest.putAll(newestIn(asked, others, certain));
  }

  /**
   * The minute of the last of all. Where the time ends within it, a template that came in it may
   * have come after the end, which counts do not tell: then the last minute before too.
   */
  private static Tail tail(Asked asked, List<CountBucket> stretches) {
    long last = last(stretches);
    var minutes = new HashSet<>(Set.of(last));
    if (asked.endsWithin(last)) {
      lastBefore(last, stretches).ifPresent(minutes::add);
    }
    return new Tail(minutes, MinuteRange.startNanos(Collections.min(minutes)));
  }

  private static OptionalLong lastBefore(long minute, List<CountBucket> stretches) {
    return stretches.stream()
        .mapToLong(CountBucket::lastMinute)
        .filter(last -> last < minute)
        .max();
  }

  /**
   * From when on a log is surely to be expected until the end of the time, if they come evenly; 0
   * where that says nothing, since it did not come until then.
   */
  private static long expectedFrom(Asked asked, Set<Long> minutes, List<CountBucket> stretches) {
    var to = asked.filter.toNanos();
    if (to == null || MinuteRange.minuteOf(to - 1) != Collections.max(minutes)) {
      return 0;
    }
    double logs = 0;
    long counted = 0;
    for (long minute : minutes) {
      long width = 1;
      for (var each : stretches) {
        if (each.lastMinute() == minute) {
          logs += each.count();
          width = Math.max(width, each.lastMinute() - each.firstMinute() + 1);
        }
      }
      counted += width;
    }
    // of as many logs anywhere in these minutes none is in a share with (1 - share) ^ logs
    double share = -Math.expm1(-SURE / logs);
    long from = to - (long) (share * counted * MinuteRange.startNanos(1));
    // between two minutes that are apart it did not come
    boolean apart = minutes.stream().noneMatch(each -> each == MinuteRange.minuteOf(from));
    return apart ? 0 : from;
  }

  /**
   * @param tails in which to look for the newest of each; the others are not looked for
   */
  private Map<UUID, List<SampleLog>> newestIn(
      Asked asked, Map<UUID, List<CountBucket>> stretches, Map<UUID, Tail> tails)
      throws InterruptedException {
    int most = MOST_RANGES / Math.clamp(tails.size(), 1, MOST_RANGES);
    var places = new ArrayList<TimeSlice>();
    tails.forEach(
        (end, tail) -> places.addAll(places(stretches.getOrDefault(end, List.of()), tail, most)));
    var newest = new HashMap<UUID, List<SampleLog>>();
    lookedUp(asked, places)
        .forEach(
            (end, logs) -> {
              var tail = tails.get(end);
              if (tail != null && tail.isNewest(logs.getFirst())) {
                newest.put(end, logs);
              }
            });
    return newest;
  }

  /** The latest first; in all services at once where they are too many. */
  private static List<TimeSlice> places(List<CountBucket> stretches, Tail tail, int most) {
    var places =
        stretches.stream()
            .filter(each -> tail.minutes.contains(each.lastMinute()))
            .sorted(Comparator.comparingLong(CountBucket::lastMinute).reversed())
            .map(tail::placeOf)
            .filter(each -> each.fromNanos() < each.toNanos())
            .distinct()
            .toList();
    return places.size() <= most
        ? places
        : places.stream()
            .map(each -> new TimeSlice(each.template(), null, each.fromNanos(), each.toNanos()))
            .distinct()
            .limit(most)
            .toList();
  }

  private static List<TimeSlice> lastPlaces(Asked asked, Collection<List<CountBucket>> stretches) {
    var cut = cut(asked.filter);
    int most = MOST_RANGES / Math.clamp(stretches.size(), 1, MOST_RANGES);
    return stretches.stream()
        .flatMap(each -> lastPlaces(each, asked.most, cut, most).stream())
        .toList();
  }

  /** The minutes of which not all logs come into question. */
  private static Set<Long> cut(LogFilter filter) {
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
   * @param cut the minutes of which not all logs come into question
   */
  private static List<TimeSlice> lastPlaces(
      List<CountBucket> stretches, int wanted, Set<Long> cut, int most) {
    var latestFirst =
        stretches.stream()
            .sorted(Comparator.comparingLong(CountBucket::lastMinute).reversed())
            .toList();
    var places = new ArrayList<TimeSlice>();
    long found = 0;
    long earliest = Long.MAX_VALUE;
    for (var each : latestFirst) {
      if (places.size() == most || (found >= wanted && each.lastMinute() < earliest)) {
        break;
      }
      long all = each.lastMinute() - each.firstMinute() + 1;
      boolean whole = !cut.contains(each.lastMinute()) && !cut.contains(each.firstMinute());
      // one that is cut may have none of them
      long least = whole ? 1 : 2;
      long minutes = Math.min(all, Math.max(least, AMPLE * wanted * all / each.count()));
      long first = each.lastMinute() - minutes + 1;
      places.add(
          TimeSlice.of(each.id(), each.service(), new MinuteRange(first, each.lastMinute() + 1)));
      // of a part of its minutes no more is known than that there is one in the last
      found += !whole ? 0 : minutes == all ? each.count() : 1;
      earliest = Math.min(earliest, first);
    }
    return places;
  }

  /** Which logs have an attribute is not counted, so all that there are have to be looked at. */
  private static List<TimeSlice> allPlaces(Collection<List<CountBucket>> parts) {
    var stretches = parts.stream().flatMap(List::stream).toList();
    if (stretches.isEmpty()) {
      return List.of();
    }
    var minuteRange =
        new MinuteRange(
            stretches.stream().mapToLong(CountBucket::firstMinute).min().orElseThrow(),
            last(stretches) + 1);
    return stretches.stream()
        .map(CountBucket::id)
        .distinct()
        .limit(TemplateStats.MAX_TIME_SLICES)
        .map(id -> TimeSlice.of(id, null, minuteRange))
        .toList();
  }

  private Map<UUID, List<SampleLog>> lookedUp(Asked asked, List<TimeSlice> places)
      throws InterruptedException {
    if (places.isEmpty()) {
      return Map.of();
    }
    var newest = new HashMap<UUID, List<SampleLog>>();
    for (var log : templates.newestLogs(asked.filter, places, asked.most)) {
      var logs = newest.computeIfAbsent(asked.end(log.template()), _ -> new ArrayList<>());
      if (logs.size() < asked.most) {
        logs.add(log);
      }
    }
    return newest;
  }
}
