package dev.sluice.core.read;

import dev.sluice.core.port.Dictionary;
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
import dev.sluice.core.read.TemplateReport.Template;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * All that a few templates that were found are shown with: how often and when they came, over time,
 * and their newest logs; of those that became them too.
 *
 * <p>Safe for use by many threads; all methods block.
 */
public final class TemplatePortraits {
  /** For each log that is looked for, so many are in the minutes that are looked through. */
  private static final long AMPLE = 4;

  /** Of the table, in one question. */
  private static final int MOST_RANGES = 400;

  private final TemplateReader templates;
  private final KnownLinks links;
  private final KnownTexts texts;

  public TemplatePortraits(TemplateReader templates, Dictionary dictionary, KnownLinks links) {
    this.templates = templates;
    this.links = links;
    texts = new KnownTexts(dictionary);
  }

  /**
   * @param each in the order asked for
   * @param begins the first minute of the first span
   * @param width minutes in a span
   */
  public record Told(List<Portrait> each, long begins, long width) {
    public Told {
      each = List.copyOf(each);
    }
  }

  /**
   * @param spans logs in each span of the time asked for, as far as any of the templates came in it
   * @param newest logs, the newest first
   */
  public record Portrait(Template template, List<Long> spans, List<Recent> newest) {
    public Portrait {
      spans = List.copyOf(spans);
      newest = List.copyOf(newest);
    }
  }

  /**
   * @param question which logs to count, of no templates in particular
   * @param filter which logs to show: what is counted by minutes knows neither instants nor
   *     attributes
   * @param ends templates that stand for themselves, at most {@link TemplateReader#MOST_IDS}
   * @param spans into which to divide the time, from 1
   * @param newest logs of each at most, from 1
   */
  public Told of(Question question, LogFilter filter, List<UUID> ends, int spans, int newest)
      throws InterruptedException {
    if (ends.isEmpty()) {
      return new Told(List.of(), question.minutes().from(), 1);
    }
    var groups = links.recently(question.tenant()).leadingTo(ends, TemplateReader.MOST_IDS);
    var seen = templates.seen(question.tenant(), question.service(), groups.keySet());
    var frame = Frame.of(question.minutes(), seen, spans);
    var parts = new LinkedHashMap<UUID, Part>();
    ends.forEach(end -> parts.put(end, new Part(end, frame)));
    for (var each : seen) {
      var part = parts.get(groups.get(each.id()));
      if (part != null) {
        part.add(each);
      }
    }
    var surely = newest == 1 ? lastMinutes(parts.values(), question, filter) : List.<Place>of();
    // what is surely in these minutes need not wait until it is counted
    try (var early = Aside.start(() -> newest(filter, surely, groups, newest))) {
      var counted = counted(question.of(groups.keySet()), frame, seen);
      for (var stretch : counted.stretches) {
        var part = parts.get(groups.get(stretch.id()));
        if (part != null) {
          part.add(stretch);
        }
      }
      var logs =
          surely.isEmpty()
              ? newest(filter, places(parts.values(), filter, newest), groups, newest)
              : early.get();
      var known = texts.of(question.tenant(), ends);
      var portraits = new ArrayList<Portrait>();
      parts.forEach(
          (end, part) ->
              portraits.add(
                  new Portrait(
                      part.tally.told(known.get(end), part.seen),
                      Arrays.stream(part.spans).limit(counted.frame.spans()).boxed().toList(),
                      logs.getOrDefault(end, List.of()))));
      return new Told(portraits, counted.frame.begins(), counted.frame.width());
    }
  }

  /**
   * @param frame by which they are divided
   */
  private record Counted(Frame frame, List<Stretch> stretches) {}

  /** By no more than one span where it would be too much by so many. */
  private Counted counted(Question question, Frame frame, List<Seen> seen)
      throws InterruptedException {
    try {
      return new Counted(frame, templates.stretches(question, frame));
    } catch (TooCostly _) {
      var whole = Frame.of(question.minutes(), seen, 1);
      return new Counted(whole, templates.stretches(question, whole));
    }
  }

  /**
   * Where the newest log of each is, as far as that is known without counting; none when it is not
   * known of all.
   */
  private static List<Place> lastMinutes(
      Collection<Part> parts, Question question, LogFilter filter) {
    boolean counted = !question.severities().isEmpty() || question.minSeverity() > 0;
    if (counted || !filter.attributes().isEmpty()) {
      return List.of();
    }
    var cut = cut(filter);
    var places = new ArrayList<Place>();
    for (var part : parts) {
      var seen = part.seen;
      if (seen == null) {
        continue; // it has no logs at all
      }
      long last = seen.to() - 1;
      if (last < question.minutes().from()) {
        continue; // none in the time asked for
      }
      if (last >= question.minutes().to() || cut.contains(last)) {
        return List.of();
      }
      part.times.stream()
          .filter(each -> each.minutes().to() == seen.to())
          .map(each -> new Place(each.id(), each.service(), each.minutes().last()))
          .forEach(places::add);
    }
    return places.size() <= MOST_RANGES ? places : List.of();
  }

  /** The links of a tenant's templates. */
  public TemplateLinks links(String tenant) throws InterruptedException {
    return links.recently(tenant);
  }

  /** The texts of templates; one that the dictionary does not have is left out. */
  public Map<UUID, String> texts(String tenant, Collection<UUID> ids) throws InterruptedException {
    return texts.of(tenant, ids);
  }

  /** What is put together for one of them. */
  private static final class Part {
    private final Tally tally;
    private final long[] spans;
    private final List<Stretch> stretches = new ArrayList<>();
    private final List<Seen> times = new ArrayList<>();
    private @Nullable Minutes seen;

    Part(UUID id, Frame frame) {
      tally = new Tally(id);
      spans = new long[frame.spans()];
    }

    void add(Stretch stretch) {
      tally.add(stretch);
      if (stretch.span() != Stretch.BEFORE) {
        spans[Math.toIntExact(stretch.span())] += stretch.count();
        stretches.add(stretch);
      }
    }

    void add(Seen other) {
      times.add(other);
      seen = seen == null ? other.minutes() : seen.and(other.minutes());
    }

    /**
     * The last minutes, until there are surely as many logs in them as are wanted, and none of the
     * rest is newer.
     *
     * @param cut the minutes of which not all logs come into question
     */
    List<Place> lastPlaces(int wanted, Set<Long> cut, int most) {
      stretches.sort(Comparator.comparingLong(Stretch::last).reversed());
      var places = new ArrayList<Place>();
      long found = 0;
      long earliest = Long.MAX_VALUE;
      for (var each : stretches) {
        if (places.size() == most || (found >= wanted && each.last() < earliest)) {
          break;
        }
        long all = each.last() - each.first() + 1;
        boolean whole = !cut.contains(each.last()) && !cut.contains(each.first());
        long minutes =
            wanted == 1 && whole ? 1 : Math.clamp(AMPLE * wanted * all / each.count(), 1, all);
        long first = each.last() - minutes + 1;
        places.add(new Place(each.id(), each.service(), new Minutes(first, each.last() + 1)));
        // of a part of its minutes no more is known than that there is one in the last
        found += !whole ? 0 : minutes == all ? each.count() : 1;
        earliest = Math.min(earliest, first);
      }
      return places;
    }
  }

  private static List<Place> places(Collection<Part> parts, LogFilter filter, int wanted) {
    if (!filter.attributes().isEmpty()) {
      return allPlaces(parts);
    }
    var cut = cut(filter);
    int most = Math.max(1, MOST_RANGES / parts.size());
    return parts.stream().flatMap(part -> part.lastPlaces(wanted, cut, most).stream()).toList();
  }

  /** The minutes of which not all logs come into question. */
  private static Set<Long> cut(LogFilter filter) {
    return Stream.of(filter.fromNanos(), filter.toNanos())
        .filter(Objects::nonNull)
        .filter(nanos -> nanos > Minutes.nanos(Minutes.of(nanos)))
        .map(Minutes::of)
        .collect(Collectors.toSet());
  }

  /** Which logs have an attribute is not counted, so all that there are have to be looked at. */
  private static List<Place> allPlaces(Collection<Part> parts) {
    var stretches = parts.stream().flatMap(part -> part.stretches.stream()).toList();
    if (stretches.isEmpty()) {
      return List.of();
    }
    var minutes =
        new Minutes(
            stretches.stream().mapToLong(Stretch::first).min().orElseThrow(),
            stretches.stream().mapToLong(Stretch::last).max().orElseThrow() + 1);
    return stretches.stream()
        .map(Stretch::id)
        .distinct()
        .limit(TemplateReader.MOST_NEWEST)
        .map(id -> new Place(id, null, minutes))
        .toList();
  }

  /** None when it would cost too much: the rest of what is told is worth having without. */
  private Map<UUID, List<Recent>> newest(
      LogFilter filter, List<Place> places, Map<UUID, UUID> groups, int most)
      throws InterruptedException {
    var newest = new HashMap<UUID, List<Recent>>();
    try {
      for (var log : templates.newest(filter, places, most)) {
        var end = Objects.requireNonNull(groups.get(log.template()));
        var logs = newest.computeIfAbsent(end, _ -> new ArrayList<>());
        if (logs.size() < most) {
          logs.add(log);
        }
      }
    } catch (TooCostly _) {
      return Map.of();
    }
    return newest;
  }
}
