package dev.sluice.core.read;

import dev.sluice.core.port.Dictionary;
import dev.sluice.core.port.LogReader.QueryTooExpensiveException;
import dev.sluice.core.port.TemplateStats;
import dev.sluice.core.port.TemplateStats.BucketLayout;
import dev.sluice.core.port.TemplateStats.CountBucket;
import dev.sluice.core.port.TemplateStats.MinuteRange;
import dev.sluice.core.port.TemplateStats.SampleLog;
import dev.sluice.core.port.TemplateStats.ServiceActivity;
import dev.sluice.core.port.TemplateStats.TemplateQuery;
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
  private final TemplateStats templates;
  private final KnownLinks links;
  private final KnownTexts texts;
  private final NewestLogs newestLogs;

  public TemplatePortraits(TemplateStats templates, Dictionary dictionary, KnownLinks links) {
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
  public record Portrait(Template template, List<Long> spans, List<SampleLog> newest) {
    public Portrait {
      spans = List.copyOf(spans);
      newest = List.copyOf(newest);
    }
  }

  /**
   * @param templateQuery which logs to count, of no templates in particular
   * @param filter which logs to show: what is counted by minutes knows neither instants nor
   *     attributes
   * @param ends templates that stand for themselves, at most {@link TemplateStats#MAX_IDS}
   * @param spans into which to divide the time, from 1
   * @param newest logs of each at most, from 1
   */
  public Told of(
      TemplateQuery templateQuery, LogFilter filter, List<UUID> ends, int spans, int newest)
      throws InterruptedException {
    if (ends.isEmpty()) {
      return new Told(List.of(), templateQuery.minuteRange().from(), 1);
    }
    var groups = links.recently(templateQuery.tenant()).leadingTo(ends, TemplateStats.MAX_IDS);
    var ids = groups.keySet();
    var asked = new NewestLogs.Asked(templateQuery.withIds(ids), filter, groups, newest);
    // beside each other what need not know of the other
    try (var texts = Aside.start(() -> this.texts.of(templateQuery.tenant(), ends))) {
      var seen = templates.serviceActivity(templateQuery.tenant(), templateQuery.service(), ids);
      try (var atHand = Aside.start(() -> newestLogs.atHand(asked, seen))) {
        var frame = BucketLayout.of(templateQuery.minuteRange(), seen, spans);
        var parts = new LinkedHashMap<UUID, Part>();
        ends.forEach(end -> parts.put(end, new Part(end, frame)));
        toEach(parts, groups, seen, ServiceActivity::id, Part::add);
        var counted = counted(templateQuery.withIds(ids), frame, seen);
        toEach(parts, groups, counted.stretches, CountBucket::id, Part::add);
        var stretches = new HashMap<UUID, List<CountBucket>>();
        parts.forEach((end, part) -> stretches.put(end, part.stretches));
        var logs = newestLogs.of(asked, stretches, atHand.get());
        var known = texts.get();
        var portraits = new ArrayList<Portrait>();
        parts.forEach(
            (end, part) ->
                portraits.add(
                    new Portrait(
                        part.tally.told(known.get(end), part.seen),
                        Arrays.stream(part.spans)
                            .limit(counted.frame.bucketCount())
                            .boxed()
                            .toList(),
                        logs.getOrDefault(end, List.of()))));
        return new Told(portraits, counted.frame.firstMinute(), counted.frame.bucketMinutes());
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
  private record Counted(BucketLayout frame, List<CountBucket> stretches) {}

  /** By no more than one span where it would be too much by so many. */
  private Counted counted(
      TemplateQuery templateQuery, BucketLayout frame, List<ServiceActivity> seen)
      throws InterruptedException {
    try {
      return new Counted(frame, templates.countBuckets(templateQuery, frame));
    } catch (QueryTooExpensiveException _) {
      var whole = BucketLayout.of(templateQuery.minuteRange(), seen, 1);
      return new Counted(whole, templates.countBuckets(templateQuery, whole));
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
    private final List<CountBucket> stretches = new ArrayList<>();
    private @Nullable MinuteRange seen;

    Part(UUID id, BucketLayout frame) {
      tally = new Tally(id);
      spans = new long[frame.bucketCount()];
    }

    void add(CountBucket stretch) {
      tally.add(stretch);
      if (stretch.bucket() != CountBucket.PRECEDING) {
        spans[Math.toIntExact(stretch.bucket())] += stretch.count();
        stretches.add(stretch);
      }
    }

    void add(ServiceActivity other) {
      seen = seen == null ? other.minuteRange() : seen.union(other.minuteRange());
    }
  }
}
