package dev.sluice.core.read;

import dev.sluice.core.port.LogReader.TooCostly;
import dev.sluice.core.port.TemplateReader;
import dev.sluice.core.port.TemplateReader.Frame;
import dev.sluice.core.port.TemplateReader.Minutes;
import dev.sluice.core.port.TemplateReader.Place;
import dev.sluice.core.port.TemplateReader.Question;
import dev.sluice.core.port.TemplateReader.Recent;
import dev.sluice.core.port.TemplateReader.Seen;
import dev.sluice.core.port.TemplateReader.Stretch;
import dev.sluice.core.query.LogFilter;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.function.BinaryOperator;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

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

  /** Templates whose logs at hand are read at once, each of up to 4,000 characters. */
  private static final int MOST_AT_HAND = 400;

  private static final Comparator<Recent> BY_TIME = Comparator.comparingLong(Recent::timeNanos);

  private final TemplateReader templates;

  NewestLogs(TemplateReader templates) {
    this.templates = templates;
  }

  /**
   * @param question which logs are counted, of whole minutes and whatever attributes they have
   * @param filter which logs are shown
   * @param groups the templates of the question, each with the one that stands for it
   * @param most logs of each of these at most, from 1
   */
  record Asked(Question question, LogFilter filter, Map<UUID, UUID> groups, int most) {
    /** The minutes before the one within which the time ends; null where it does not, or none. */
    @Nullable Minutes beforeTheCut() {
      var to = filter.toNanos();
      if (to == null) {
        return null;
      }
      long cut = Minutes.of(to);
      long from = question.minutes().from();
      return to > Minutes.nanos(cut) && cut > from ? new Minutes(from, cut) : null;
    }

    private UUID end(UUID template) {
      return Objects.requireNonNull(groups.get(template));
    }
  }

  /**
   * None where more than the newest is asked for, or one that has an attribute; nor where too many
   * became these few.
   */
  List<Recent> atHand(Asked asked) throws InterruptedException {
    if (asked.most > 1
        || !asked.filter.attributes().isEmpty()
        || asked.groups.size() > MOST_AT_HAND) {
      return List.of();
    }
    try {
      return templates.latest(asked.question);
    } catch (TooCostly _) {
      return List.of();
    }
  }

  /**
   * The newest first; none of what would cost too much to look for, since what else is told of a
   * template is worth having without.
   *
   * @param seen when and where the templates came
   * @param stretches in which they came within the time asked for, by what stands for them
   * @param atHand what {@link #atHand} gave
   */
  Map<UUID, List<Recent>> of(
      Asked asked, List<Seen> seen, Map<UUID, List<Stretch>> stretches, List<Recent> atHand)
      throws InterruptedException {
    var latest =
        atHand.stream()
            .collect(
                Collectors.toMap(
                    log -> asked.end(log.template()), log -> log, BinaryOperator.maxBy(BY_TIME)));
    var newest = new HashMap<UUID, List<Recent>>();
    var others = new HashMap<UUID, List<Stretch>>();
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
        lookForOne(asked, seen, others, newest);
      }
    } catch (TooCostly _) {
      // those that were found are told
    }
    return newest;
  }

  /** The minute of the last of all. */
  private static long last(List<Stretch> stretches) {
    return stretches.stream().mapToLong(Stretch::last).max().orElseThrow();
  }

  private static boolean isNewest(Recent log, long last, LogFilter filter) {
    var to = filter.toNanos();
    return Minutes.of(log.timeNanos()) >= last && (to == null || log.timeNanos() < to);
  }

  /**
   * Where the time ends within a minute, a template that came in it may have come after the end:
   * its counts do not tell. Most have come before too, so that is tried; the others are counted
   * again without that minute.
   */
  private void lookForOne(
      Asked asked, List<Seen> seen, Map<UUID, List<Stretch>> others, Map<UUID, List<Recent>> newest)
      throws InterruptedException {
    newest.putAll(inLastMinute(asked, others));
    var before = asked.beforeTheCut();
    if (before != null) {
      others.keySet().removeAll(newest.keySet());
      others.values().removeIf(each -> last(each) < before.to());
      newest.putAll(inLastMinute(asked, counted(asked, before, seen, others.keySet())));
    }
  }

  private Map<UUID, List<Stretch>> counted(
      Asked asked, Minutes minutes, List<Seen> seen, Set<UUID> ends) throws InterruptedException {
    var ids =
        asked.groups.entrySet().stream()
            .filter(each -> ends.contains(each.getValue()))
            .map(Map.Entry::getKey)
            .collect(Collectors.toSet());
    if (ids.isEmpty()) {
      return Map.of();
    }
    var frame =
        Frame.of(minutes, seen.stream().filter(each -> ids.contains(each.id())).toList(), 1);
    return templates.stretches(asked.question.of(ids).of(minutes), frame).stream()
        .filter(each -> each.span() != Stretch.BEFORE)
        .collect(Collectors.groupingBy(each -> asked.end(each.id())));
  }

  private Map<UUID, List<Recent>> inLastMinute(Asked asked, Map<UUID, List<Stretch>> stretches)
      throws InterruptedException {
    int most = most(stretches.values());
    var found =
        lookedUp(
            asked,
            stretches.values().stream().flatMap(each -> lastMinute(each).limit(most)).toList());
    var newest = new HashMap<UUID, List<Recent>>();
    stretches.forEach(
        (end, each) -> {
          var logs = found.get(end);
          // what is in the minute of another may not be the newest
          if (logs != null && Minutes.of(logs.getFirst().timeNanos()) == last(each)) {
            newest.put(end, logs);
          }
        });
    return newest;
  }

  private static Stream<Place> lastMinute(List<Stretch> stretches) {
    long last = last(stretches);
    var minute = new Minutes(last, last + 1);
    return stretches.stream()
        .filter(each -> each.last() == last)
        .map(each -> new Place(each.id(), each.service(), minute));
  }

  private static List<Place> lastPlaces(Asked asked, Collection<List<Stretch>> stretches) {
    var cut = cut(asked.filter);
    int most = most(stretches);
    return stretches.stream()
        .flatMap(each -> lastPlaces(each, asked.most, cut, most).stream())
        .toList();
  }

  /** Ranges for each of these. */
  private static int most(Collection<List<Stretch>> stretches) {
    return MOST_RANGES / Math.clamp(stretches.size(), 1, MOST_RANGES);
  }

  /** The minutes of which not all logs come into question. */
  private static Set<Long> cut(LogFilter filter) {
    return Stream.of(filter.fromNanos(), filter.toNanos())
        .filter(Objects::nonNull)
        .filter(nanos -> nanos > Minutes.nanos(Minutes.of(nanos)))
        .map(Minutes::of)
        .collect(Collectors.toSet());
  }

  /**
   * The last minutes, until there are surely as many logs in them as are wanted, and none of the
   * rest is newer.
   *
   * @param cut the minutes of which not all logs come into question
   */
  private static List<Place> lastPlaces(
      List<Stretch> stretches, int wanted, Set<Long> cut, int most) {
    var latestFirst =
        stretches.stream().sorted(Comparator.comparingLong(Stretch::last).reversed()).toList();
    var places = new ArrayList<Place>();
    long found = 0;
    long earliest = Long.MAX_VALUE;
    for (var each : latestFirst) {
      if (places.size() == most || (found >= wanted && each.last() < earliest)) {
        break;
      }
      long all = each.last() - each.first() + 1;
      boolean whole = !cut.contains(each.last()) && !cut.contains(each.first());
      // one that is cut may have none of them
      long least = whole ? 1 : 2;
      long minutes = Math.min(all, Math.max(least, AMPLE * wanted * all / each.count()));
      long first = each.last() - minutes + 1;
      places.add(new Place(each.id(), each.service(), new Minutes(first, each.last() + 1)));
      // of a part of its minutes no more is known than that there is one in the last
      found += !whole ? 0 : minutes == all ? each.count() : 1;
      earliest = Math.min(earliest, first);
    }
    return places;
  }

  /** Which logs have an attribute is not counted, so all that there are have to be looked at. */
  private static List<Place> allPlaces(Collection<List<Stretch>> parts) {
    var stretches = parts.stream().flatMap(List::stream).toList();
    if (stretches.isEmpty()) {
      return List.of();
    }
    var minutes =
        new Minutes(
            stretches.stream().mapToLong(Stretch::first).min().orElseThrow(), last(stretches) + 1);
    return stretches.stream()
        .map(Stretch::id)
        .distinct()
        .limit(TemplateReader.MOST_NEWEST)
        .map(id -> new Place(id, null, minutes))
        .toList();
  }

  private Map<UUID, List<Recent>> lookedUp(Asked asked, List<Place> places)
      throws InterruptedException {
    if (places.isEmpty()) {
      return Map.of();
    }
    var newest = new HashMap<UUID, List<Recent>>();
    for (var log : templates.newest(asked.filter, places, asked.most)) {
      var logs = newest.computeIfAbsent(asked.end(log.template()), _ -> new ArrayList<>());
      if (logs.size() < asked.most) {
        logs.add(log);
      }
    }
    return newest;
  }
}
