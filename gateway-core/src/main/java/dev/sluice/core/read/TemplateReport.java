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
  private final TemplateLinkCache links;
  private final ConcurrencyLimitedReader limiter;

  /**
   * @param limiter whose turn to wait for
   */
  public TemplateReport(
      TemplateStats templates,
      Dictionary dictionary,
      TemplateLinkCache links,
      ConcurrencyLimitedReader limiter) {
    this.templates = templates;
    this.dictionary = dictionary;
    this.links = links;
    this.limiter = limiter;
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
   * @param countBefore logs in the equally long time before
   * @param firstMinute of the first log of all, in the service asked for; null when there is none
   * @param lastMinute of the last one
   * @param services logs in the time asked for of every service that had any in either time
   * @param severities the same of levels; logs without one are in none
   */
  public record Template(
      UUID id,
      @Nullable String text,
      long count,
      long countBefore,
      @Nullable Long firstMinute,
      @Nullable Long lastMinute,
      Map<String, Long> services,
      Map<Severity, Long> severities) {

    /** By which part of what it was the count has changed, from -1; empty when it was nothing. */
    public Optional<Double> rateChange() {
      return countBefore == 0
          ? Optional.empty()
          : Optional.of((double) (count - countBefore) / countBefore);
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
   * @param template the template that an id stands for by now
   * @param mergedIds the others that became it, too
   */
  public record TemplateDetail(Template template, Set<UUID> mergedIds) {
    public TemplateDetail {
      mergedIds = Set.copyOf(mergedIds);
    }
  }

  /**
   * The templates of a view.
   *
   * @param templateQuery of no templates in particular
   * @param limit templates at most, from 1
   * @throws ConcurrencyLimitedReader.TooManyQueriesException when too many are asking
   */
  public Listing list(TemplateQuery templateQuery, View view, int limit)
      throws InterruptedException {
    return limiter.withPermit(_ -> doList(templateQuery, view, limit));
  }

  /**
   * What became of one template; empty when the dictionary has none with this id.
   *
   * @param templateQuery of no templates in particular
   * @throws ConcurrencyLimitedReader.TooManyQueriesException when too many are asking
   */
  public Optional<TemplateDetail> find(TemplateQuery templateQuery, UUID id)
      throws InterruptedException {
    return limiter.withPermit(_ -> doFind(templateQuery, id));
  }

  /**
   * When logs of a template came, as it was counted; empty when the dictionary has none with this
   * id.
   *
   * @throws ConcurrencyLimitedReader.TooManyQueriesException when too many are asking
   */
  public Optional<MinuteRange> activeRange(String tenant, UUID id) throws InterruptedException {
    return limiter.withPermit(_ -> doActiveRange(tenant, id));
  }

  private Optional<MinuteRange> doActiveRange(String tenant, UUID id) throws InterruptedException {
    if (dictionary.find(tenant, EntryKind.TEMPLATE, Set.of(id)).isEmpty()) {
      return Optional.empty();
    }
    var graph = links.loadCurrent(tenant);
    var group = graph.membersOf(Set.of(graph.canonical(id)), TemplateStats.MAX_IDS).keySet();
    var ranges = templates.activeRanges(tenant, null, group).values();
    return Optional.of(ranges.stream().reduce(MinuteRange::union).orElse(MinuteRange.ALL));
  }

  private Listing doList(TemplateQuery templateQuery, View view, int limit)
      throws InterruptedException {
    var candidates = countsByCanonicalId(templateQuery);
    var selected =
        switch (view) {
          case TOP -> filter(candidates, counts -> counts.count > 0);
          case NEW ->
              firstSeenInRange(templateQuery, filter(candidates, counts -> counts.count > 0));
          case VANISHED -> filter(candidates, counts -> counts.count == 0);
          case CHANGED -> filter(candidates, counts -> counts.count != counts.countBefore);
        };
    var order =
        switch (view) {
          case TOP, NEW -> Comparator.comparingLong((TemplateCounts counts) -> counts.count);
          case VANISHED -> Comparator.comparingLong((TemplateCounts counts) -> counts.countBefore);
          case CHANGED ->
              Comparator.comparingDouble(TemplateCounts::changeRatio)
                  .thenComparingLong(counts -> Math.max(counts.count, counts.countBefore));
        };
    var first =
        selected.stream()
            .sorted(order.reversed().thenComparing(counts -> counts.id))
            .limit(limit)
            .toList();
    return new Listing(selected.size(), toTemplates(templateQuery, first));
  }

  private interface CountsPredicate {
    boolean test(TemplateCounts counts);
  }

  private static List<TemplateCounts> filter(
      Collection<TemplateCounts> candidates, CountsPredicate countsPredicate) {
    return candidates.stream().filter(countsPredicate::test).toList();
  }

  /** What was counted, by the ends of links. */
  private Collection<TemplateCounts> countsByCanonicalId(TemplateQuery templateQuery)
      throws InterruptedException {
    var counts = templates.counts(templateQuery);
    var graph = links.loadCurrent(templateQuery.tenant());
    var byCanonicalId = new HashMap<UUID, TemplateCounts>();
    for (var count : counts) {
      byCanonicalId.computeIfAbsent(graph.canonical(count.id()), TemplateCounts::new).add(count);
    }
    return byCanonicalId.values();
  }

  private List<TemplateCounts> firstSeenInRange(
      TemplateQuery templateQuery, List<TemplateCounts> candidates) throws InterruptedException {
    var ranges = activeRangesOf(templateQuery, membersOf(templateQuery, candidates));
    return filter(
        candidates,
        counts -> {
          var range = ranges.get(counts.id);
          return range == null || range.from() >= templateQuery.minuteRange().from();
        });
  }

  /** All that became these, each with the one it became. */
  private Map<UUID, UUID> membersOf(
      TemplateQuery templateQuery, Collection<TemplateCounts> candidates)
      throws InterruptedException {
    return links
        .loadCurrent(templateQuery.tenant())
        .membersOf(candidates.stream().map(counts -> counts.id).toList(), TemplateStats.MAX_COUNTS);
  }

  /** By the ends of links. */
  private Map<UUID, MinuteRange> activeRangesOf(TemplateQuery templateQuery, Map<UUID, UUID> groups)
      throws InterruptedException {
    var ranges = new HashMap<UUID, MinuteRange>();
    for (var batch : TemplateMergeGraph.partition(groups.keySet())) {
      templates
          .activeRanges(templateQuery.tenant(), templateQuery.service(), batch)
          .forEach(
              (id, came) -> ranges.merge(groups.getOrDefault(id, id), came, MinuteRange::union));
    }
    return ranges;
  }

  private List<Template> toTemplates(TemplateQuery templateQuery, List<TemplateCounts> candidates)
      throws InterruptedException {
    var ranges = activeRangesOf(templateQuery, membersOf(templateQuery, candidates));
    var ids = candidates.stream().map(counts -> counts.id).toList();
    var texts =
        dictionary.find(templateQuery.tenant(), EntryKind.TEMPLATE, ids).stream()
            .collect(Collectors.toMap(DictionaryEntry::id, DictionaryEntry::text));
    return candidates.stream()
        .map(counts -> counts.toTemplate(texts.get(counts.id), ranges.get(counts.id)))
        .toList();
  }

  private Optional<TemplateDetail> doFind(TemplateQuery templateQuery, UUID id)
      throws InterruptedException {
    var graph = links.loadCurrent(templateQuery.tenant());
    var canonicalId = graph.canonical(id);
    var entry = dictionary.find(templateQuery.tenant(), EntryKind.TEMPLATE, Set.of(canonicalId));
    if (entry.isEmpty()) {
      return Optional.empty();
    }
    var group = graph.membersOf(Set.of(canonicalId), TemplateStats.MAX_IDS);
    var counts = new TemplateCounts(canonicalId);
    templates.counts(templateQuery.withIds(group.keySet())).forEach(counts::add);
    var activeRange = activeRangesOf(templateQuery, group).get(canonicalId);
    var merged = new HashSet<>(group.keySet());
    merged.remove(canonicalId);
    return Optional.of(
        new TemplateDetail(counts.toTemplate(entry.getFirst().text(), activeRange), merged));
  }
}
