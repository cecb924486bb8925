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
import java.util.function.BiConsumer;
import java.util.function.Function;
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

  /** Templates whose logs at hand are read at once, each of up to 4,000 characters. */
  private static final int MOST_AT_HAND = 400;

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
    var ids = groups.keySet();
    // beside all else, which need not know of them
    try (var atHand = Aside.start(() -> atHand(question.of(ids), filter, newest))) {
      var seen = templates.seen(question.tenant(), question.service(), ids);
      var frame = Frame.of(question.minutes(), seen, spans);
      var parts = new LinkedHashMap<UUID, Part>();
      ends.forEach(end -> parts.put(end, new Part(end, frame)));
      toEach(parts, groups, seen, Seen::id, Part::add);
      var counted = counted(question.of(ids), frame, seen);
      toEach(parts, groups, counted.stretches, Stretch::id, Part::add);
      toEach(parts, groups, atHand.get(), Recent::template, Part::add);
      var logs = newest(filter, parts, groups, newest);
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

  private static <T> void toEach(
      Map<UUID, Part> parts,
      Map<UUID, UUID> groups,
      List<T> found,
      Function<T, UUID> id,
      BiConsumer<Part, T> add) {
    for (var one : found) {
      var part = parts.get(groups.get(id.apply(one)));
      if (part != null) {
        add.accept(part, one);
      }
    }
  }

  /**
   * None where more than the newest is asked for, or one that has an attribute; nor where too many
   * became these few.
   */
  private List<Recent> atHand(Question question, LogFilter filter, int newest)
      throws InterruptedException {
    if (newest > 1 || !filter.attributes().isEmpty() || question.ids().size() > MOST_AT_HAND) {
      return List.of();
    }
    try {
      return templates.latest(question);
    } catch (TooCostly _) {
      return List.of();
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
    private @Nullable Minutes seen;
    private @Nullable Recent latest;

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
      seen = seen == null ? other.minutes() : seen.and(other.minutes());
    }

    void add(Recent log) {
      latest = latest == null || latest.timeNanos() < log.timeNanos() ? log : latest;
    }

    /**
     * Its newest log in the time asked for, if that is at hand.
     *
     * @return none or one; null when it has to be looked for
     */
    @Nullable List<Recent> newest(LogFilter filter) {
      if (stretches.isEmpty()) {
        return List.of();
      }
      var log = latest;
      var to = filter.toNanos();
      if (log == null
          || Minutes.of(log.timeNanos()) < lastMinute()
          || (to != null && log.timeNanos() >= to)) {
        return null;
      }
      var from = filter.fromNanos();
      return from == null || log.timeNanos() >= from ? List.of(log) : List.of();
    }

    /** Wherever it came in its last minute of all. */
    List<Place> lastPlaces(int most) {
      long last = lastMinute();
      var minute = new Minutes(last, last + 1);
      return stretches.stream()
          .filter(each -> each.last() == last)
          .limit(most)
          .map(each -> new Place(each.id(), each.service(), minute))
          .toList();
    }

    boolean isOfLastMinute(Recent log) {
      return Minutes.of(log.timeNanos()) == lastMinute();
    }

    private long lastMinute() {
      return stretches.stream().mapToLong(Stretch::last).max().orElseThrow();
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
        long minutes = Math.clamp(AMPLE * wanted * all / each.count(), 1, all);
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
    return parts.stream()
        .flatMap(part -> part.lastPlaces(wanted, cut, most(parts)).stream())
        .toList();
  }

  private static List<Place> lastMinutes(Collection<Part> parts) {
    return parts.stream().flatMap(part -> part.lastPlaces(most(parts)).stream()).toList();
  }

  private static int most(Collection<Part> parts) {
    return Math.max(1, MOST_RANGES / parts.size());
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

  private Map<UUID, List<Recent>> newest(
      LogFilter filter, Map<UUID, Part> parts, Map<UUID, UUID> groups, int wanted)
      throws InterruptedException {
    var newest = new HashMap<UUID, List<Recent>>();
    var others = new HashMap<UUID, Part>();
    parts.forEach(
        (end, part) -> {
          var logs = part.newest(filter);
          if (logs == null) {
            others.put(end, part);
          } else {
            newest.put(end, logs);
          }
        });
    try {
      if (wanted == 1 && filter.attributes().isEmpty()) {
        // half of what would have to be read to find it surely, where the time ends in a minute
        lookedUp(filter, lastMinutes(others.values()), groups, wanted)
            .forEach(
                (end, logs) -> {
                  // else there may be later ones where it was not looked for
                  if (Objects.requireNonNull(others.get(end)).isOfLastMinute(logs.getFirst())) {
                    newest.put(end, logs);
                    others.remove(end);
                  }
                });
      }
      newest.putAll(lookedUp(filter, places(others.values(), filter, wanted), groups, wanted));
    } catch (TooCostly _) {
      // the rest of what is told is worth having without
    }
    return newest;
  }

  private Map<UUID, List<Recent>> lookedUp(
      LogFilter filter, List<Place> places, Map<UUID, UUID> groups, int most)
      throws InterruptedException {
    if (places.isEmpty()) {
      return Map.of();
    }
    var newest = new HashMap<UUID, List<Recent>>();
    for (var log : templates.newest(filter, places, most)) {
      var end = Objects.requireNonNull(groups.get(log.template()));
      var logs = newest.computeIfAbsent(end, _ -> new ArrayList<>());
      if (logs.size() < most) {
        logs.add(log);
      }
    }
    return newest;
  }
}
