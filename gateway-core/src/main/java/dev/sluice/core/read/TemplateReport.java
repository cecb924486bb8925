package dev.sluice.core.read;

import dev.sluice.core.domain.Severity;
import dev.sluice.core.port.Dictionary;
import dev.sluice.core.port.Dictionary.DictionaryEntry;
import dev.sluice.core.port.Dictionary.EntryKind;
import dev.sluice.core.port.TemplateStats;
import dev.sluice.core.port.TemplateStats.MinuteRange;
import dev.sluice.core.port.TemplateStats.TemplateQuery;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * What logs say, how often, and what of it is new: templates by their counts, from the counts
 * alone. Only templates at the end of their links are told; what was counted for those that became
 * them is theirs, so that it is no news when a template is generalised.
 *
 * <p>Safe for use by many threads. What is asked here waits in the same queue as questions for
 * logs, each in one place of it.
 */
public final class TemplateReport {
  private final TemplateStats templates;
  private final Dictionary dictionary;
  private final KnownLinks links;
  private final BoundedReader queue;

  /**
   * @param queue whose turn to wait for
   */
  public TemplateReport(
      TemplateStats templates, Dictionary dictionary, KnownLinks links, BoundedReader queue) {
    this.templates = templates;
    this.dictionary = dictionary;
    this.links = links;
    this.queue = queue;
  }

  /** Which templates, and in which order; equal ones by identity. */
  public enum View {
    /** Those that came, the most frequent first. */
    TOP,
    /** Those of the first that never came before; the most frequent first. */
    NEW,
    /** Those that came in the time before and not any more; the most frequent then first. */
    VANISHED,
    /**
     * Those that came more or less often than in the time before, by how many times; one log more
     * is taken for either time, so that one that did not come there has its place too.
     */
    CHANGED
  }

  /**
   * A template that stands for itself.
   *
   * @param text null when the dictionary does not have it
   * @param count logs in the time asked for
   * @param before logs in the equally long time before
   * @param firstMinute of the first log of all, in the service asked for; null when there is none
   * @param lastMinute of the last one
   * @param services logs in the time asked for of every service that had any in either time
   * @param severities the same of levels; logs without one are in none
   */
  public record Template(
      UUID id,
      @Nullable String text,
      long count,
      long before,
      @Nullable Long firstMinute,
      @Nullable Long lastMinute,
      Map<String, Long> services,
      Map<Severity, Long> severities) {

    /** By which part of what it was the count has changed, from -1; empty when it was nothing. */
    public Optional<Double> rateChange() {
      return before == 0 ? Optional.empty() : Optional.of((double) (count - before) / before);
    }
  }

  /**
   * @param total templates in the view
   * @param templates the first of them
   */
  public record Listing(int total, List<Template> templates) {
    public Listing {
      templates = List.copyOf(templates);
    }
  }

  /**
   * @param became the template that an id stands for by now
   * @param merged the others that became it, too
   */
  public record Found(Template became, Set<UUID> merged) {
    public Found {
      merged = Set.copyOf(merged);
    }
  }

  /**
   * The templates of a view.
   *
   * @param templateQuery of no templates in particular
   * @param limit templates at most, from 1
   * @throws BoundedReader.Busy when too many are asking
   */
  public Listing list(TemplateQuery templateQuery, View view, int limit)
      throws InterruptedException {
    return queue.bounded(_ -> listed(templateQuery, view, limit));
  }

  /**
   * What became of one template; empty when the dictionary has none with this id.
   *
   * @param templateQuery of no templates in particular
   * @throws BoundedReader.Busy when too many are asking
   */
  public Optional<Found> find(TemplateQuery templateQuery, UUID id) throws InterruptedException {
    return queue.bounded(_ -> found(templateQuery, id));
  }

  /**
   * When logs of a template came, as it was counted; empty when the dictionary has none with this
   * id.
   *
   * @throws BoundedReader.Busy when too many are asking
   */
  public Optional<MinuteRange> minutes(String tenant, UUID id) throws InterruptedException {
    return queue.bounded(_ -> cameIn(tenant, id));
  }

  private Optional<MinuteRange> cameIn(String tenant, UUID id) throws InterruptedException {
    if (dictionary.find(tenant, EntryKind.TEMPLATE, Set.of(id)).isEmpty()) {
      return Optional.empty();
    }
    var known = links.now(tenant);
    var group = known.leadingTo(Set.of(known.end(id)), TemplateStats.MAX_IDS).keySet();
    var came = templates.activeRanges(tenant, null, group).values();
    return Optional.of(came.stream().reduce(MinuteRange::union).orElse(MinuteRange.ALL));
  }

  private Listing listed(TemplateQuery templateQuery, View view, int limit)
      throws InterruptedException {
    var tallies = tallies(templateQuery);
    var wanted =
        switch (view) {
          case TOP -> those(tallies, tally -> tally.count > 0);
          case NEW -> unseenBefore(templateQuery, those(tallies, tally -> tally.count > 0));
          case VANISHED -> those(tallies, tally -> tally.count == 0);
          case CHANGED -> those(tallies, tally -> tally.count != tally.before);
        };
    var order =
        switch (view) {
          case TOP, NEW -> Comparator.comparingLong((Tally tally) -> tally.count);
          case VANISHED -> Comparator.comparingLong((Tally tally) -> tally.before);
          case CHANGED ->
              Comparator.comparingDouble(Tally::times)
                  .thenComparingLong(tally -> Math.max(tally.count, tally.before));
        };
    var first =
        wanted.stream()
            .sorted(order.reversed().thenComparing(tally -> tally.id))
            .limit(limit)
            .toList();
    return new Listing(wanted.size(), told(templateQuery, first));
  }

  private interface Condition {
    boolean holds(Tally tally);
  }

  private static List<Tally> those(Collection<Tally> tallies, Condition condition) {
    return tallies.stream().filter(condition::holds).toList();
  }

  /** What was counted, by the ends of links. */
  private Collection<Tally> tallies(TemplateQuery templateQuery) throws InterruptedException {
    var counts = templates.counts(templateQuery);
    var known = links.now(templateQuery.tenant());
    var tallies = new HashMap<UUID, Tally>();
    for (var count : counts) {
      tallies.computeIfAbsent(known.end(count.id()), Tally::new).add(count);
    }
    return tallies.values();
  }

  private List<Tally> unseenBefore(TemplateQuery templateQuery, List<Tally> tallies)
      throws InterruptedException {
    var seen = seen(templateQuery, groups(templateQuery, tallies));
    return those(
        tallies,
        tally -> {
          var times = seen.get(tally.id);
          return times == null || times.from() >= templateQuery.minuteRange().from();
        });
  }

  /** All that became these, each with the one it became. */
  private Map<UUID, UUID> groups(TemplateQuery templateQuery, Collection<Tally> tallies)
      throws InterruptedException {
    return links
        .now(templateQuery.tenant())
        .leadingTo(tallies.stream().map(tally -> tally.id).toList(), TemplateStats.MAX_COUNTS);
  }

  /** By the ends of links. */
  private Map<UUID, MinuteRange> seen(TemplateQuery templateQuery, Map<UUID, UUID> groups)
      throws InterruptedException {
    var seen = new HashMap<UUID, MinuteRange>();
    for (var some : TemplateLinks.portions(groups.keySet())) {
      templates
          .activeRanges(templateQuery.tenant(), templateQuery.service(), some)
          .forEach((id, came) -> seen.merge(groups.getOrDefault(id, id), came, MinuteRange::union));
    }
    return seen;
  }

  private List<Template> told(TemplateQuery templateQuery, List<Tally> tallies)
      throws InterruptedException {
    var seen = seen(templateQuery, groups(templateQuery, tallies));
    var ids = tallies.stream().map(tally -> tally.id).toList();
    var texts =
        dictionary.find(templateQuery.tenant(), EntryKind.TEMPLATE, ids).stream()
            .collect(Collectors.toMap(DictionaryEntry::id, DictionaryEntry::text));
    return tallies.stream()
        .map(tally -> tally.told(texts.get(tally.id), seen.get(tally.id)))
        .toList();
  }

  private Optional<Found> found(TemplateQuery templateQuery, UUID id) throws InterruptedException {
    var known = links.now(templateQuery.tenant());
    var end = known.end(id);
    var entry = dictionary.find(templateQuery.tenant(), EntryKind.TEMPLATE, Set.of(end));
    if (entry.isEmpty()) {
      return Optional.empty();
    }
    var group = known.leadingTo(Set.of(end), TemplateStats.MAX_IDS);
    var tally = new Tally(end);
    templates.counts(templateQuery.withIds(group.keySet())).forEach(tally::add);
    var seen = seen(templateQuery, group).get(end);
    var merged = new HashSet<>(group.keySet());
    merged.remove(end);
    return Optional.of(new Found(tally.told(entry.getFirst().text(), seen), merged));
  }
}
