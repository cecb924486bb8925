package dev.sluice.core.read;

import dev.sluice.core.port.Dictionary;
import dev.sluice.core.port.LogReader.TooCostly;
import dev.sluice.core.port.TemplateReader;
import dev.sluice.core.port.TemplateReader.Frame;
import dev.sluice.core.port.TemplateReader.Minutes;
import dev.sluice.core.port.TemplateReader.Question;
import dev.sluice.core.port.TemplateReader.Recent;
import dev.sluice.core.port.TemplateReader.Seen;
import dev.sluice.core.port.TemplateReader.Stretch;
import dev.sluice.core.query.LogFilter;
import dev.sluice.core.read.TemplateReport.Template;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.BiConsumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * All that a few templates that were found are shown with: how often and when they came, over time,
 * and their newest logs; of those that became them too.
 *
 * <p>Safe for use by many threads; all methods block.
 */
public final class TemplatePortraits {
  private final TemplateReader templates;
  private final KnownLinks links;
  private final KnownTexts texts;
  private final NewestLogs newestLogs;

  public TemplatePortraits(TemplateReader templates, Dictionary dictionary, KnownLinks links) {
    this.templates = templates;
    this.links = links;
    texts = new KnownTexts(dictionary);
    newestLogs = new NewestLogs(templates);
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
    var asked = new NewestLogs.Asked(question.of(ids), filter, groups, newest);
    // beside each other what need not know of the other
    try (var texts = Aside.start(() -> this.texts.of(question.tenant(), ends))) {
      var seen = templates.seen(question.tenant(), question.service(), ids);
      try (var atHand = Aside.start(() -> newestLogs.atHand(asked, seen))) {
        var frame = Frame.of(question.minutes(), seen, spans);
        var parts = new LinkedHashMap<UUID, Part>();
        ends.forEach(end -> parts.put(end, new Part(end, frame)));
        toEach(parts, groups, seen, Seen::id, Part::add);
        var counted = counted(question.of(ids), frame, seen);
        toEach(parts, groups, counted.stretches, Stretch::id, Part::add);
        var stretches = new HashMap<UUID, List<Stretch>>();
        parts.forEach((end, part) -> stretches.put(end, part.stretches));
        var logs = newestLogs.of(asked, stretches, atHand.get());
        var known = texts.get();
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
  }
}
