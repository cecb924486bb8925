package dev.sluice.query.read;

import dev.sluice.core.domain.Severity;
import dev.sluice.query.port.TemplateStats;
import dev.sluice.query.port.TemplateStats.MinuteRange;
import dev.sluice.query.port.TemplateStats.TemplateQuery;
import dev.sluice.templates.dictionary.Dictionary;
import dev.sluice.templates.dictionary.Dictionary.DictionaryEntry;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;
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
 * Reports templates by their counts: the most frequent, the new, the vanished and the changed ones.
 * It reads the counts only, not the log records. A report has canonical templates only; the counts
 * of the templates merged into them are added to theirs, so that a template that is generalised is
 * not reported as a new one.
 *
 * <p>Safe for use by many threads. Each report takes one permit of the {@link
 * ConcurrencyLimitedReader} that also limits log queries.
 */
public final class TemplateReport {
  private final TemplateStats templates;
  private final Dictionary dictionary;
  private final TemplateLinkCache links;
  private final ConcurrencyLimitedReader limiter;

  /**
   * @param limiter the reader whose permits limit the reports
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

  /**
   * The selection and the order of the templates; templates that are equal in the order are sorted
   * by id.
   */
  public enum View {
    /** Templates with records in the time range, the most frequent first. */
    TOP,
    /**
     * Templates of {@link #TOP} that have no records before the time range, the most frequent
     * first.
     */
    NEW,
    /**
     * Templates with records in the preceding time range and none in the queried one, the most
     * frequent first.
     */
    VANISHED,
    /**
     * Templates with different counts in the queried and the preceding time range, the greatest
     * ratio first; the ratio adds one record to each count, so that it is finite for a count of
     * zero.
     */
    CHANGED
  }

  /**
   * A canonical template.
   *
   * @param text the text of the template; null when the dictionary does not have it
   * @param count records in the queried time range
   * @param countBefore records in the preceding time range, which has the same length
   * @param firstMinute minute of the first record at any time, in the queried service; null when
   *     there is none
   * @param lastMinute minute of the last record, in the queried service; null when there is none
   * @param services records in the queried time range by service; has each service with records in
   *     one of both time ranges
   * @param severities records in the queried time range by severity; has each severity with records
   *     in one of both time ranges, and does not count records without a severity
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

    /**
     * Returns the change of the count relative to the preceding time range, at least -1; empty when
     * the preceding count is 0.
     */
    public Optional<Double> rateChange() {
      return countBefore == 0
          ? Optional.empty()
          : Optional.of((double) (count - countBefore) / countBefore);
    }
  }

  /**
   * @param total number of templates in the view
   * @param templates the first templates of the view
   */
  public record Listing(int total, List<Template> templates) {
    public Listing {
      templates = List.copyOf(templates);
    }
  }

  /**
   * @param template the canonical template of the queried id
   * @param mergedIds the other templates that were merged into it
   */
  public record TemplateDetail(Template template, Set<UUID> mergedIds) {
    public TemplateDetail {
      mergedIds = Set.copyOf(mergedIds);
    }
  }

  /**
   * Lists the templates of a view.
   *
   * @param templateQuery the query, without template ids
   * @param limit maximum number of templates, at least 1
   * @throws ConcurrencyLimitedReader.TooManyQueriesException when too many queries run
   */
  public Listing list(TemplateQuery templateQuery, View view, int limit)
      throws InterruptedException {
    return limiter.withPermit(_ -> doList(templateQuery, view, limit));
  }

  /**
   * Returns the canonical template of a template; empty when the dictionary does not have it.
   *
   * @param templateQuery the query, without template ids
   * @throws ConcurrencyLimitedReader.TooManyQueriesException when too many queries run
   */
  public Optional<TemplateDetail> find(TemplateQuery templateQuery, UUID id)
      throws InterruptedException {
    return limiter.withPermit(_ -> doFind(templateQuery, id));
  }

  /**
   * Returns the minutes from the first to the last counted record of a template and of the
   * templates merged with it; {@link MinuteRange#ALL} when none was counted; empty when the
   * dictionary does not have the template.
   *
   * @throws ConcurrencyLimitedReader.TooManyQueriesException when too many queries run
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
    var counted = templates.counts(templateQuery);
    // The links are loaded after the counts, so that they include all counted templates.
    var graph = links.loadCurrent(templateQuery.tenant());
    var byCanonicalId = new HashMap<UUID, TemplateCounts>();
    for (var count : counted) {
      byCanonicalId.computeIfAbsent(graph.canonical(count.id()), TemplateCounts::new).add(count);
    }
    var candidates = byCanonicalId.values().stream();
    var selected =
        switch (view) {
          case TOP -> candidates.filter(counts -> counts.count > 0).toList();
          case NEW ->
              firstSeenInRange(
                  templateQuery, graph, candidates.filter(counts -> counts.count > 0).toList());
          case VANISHED -> candidates.filter(counts -> counts.count == 0).toList();
          case CHANGED -> candidates.filter(counts -> counts.count != counts.countBefore).toList();
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
    return new Listing(selected.size(), toTemplates(templateQuery, graph, first));
  }

  private List<TemplateCounts> firstSeenInRange(
      TemplateQuery templateQuery, TemplateMergeGraph graph, List<TemplateCounts> candidates)
      throws InterruptedException {
    var ranges = activeRangesOf(templateQuery, membersOf(graph, candidates));
    return candidates.stream()
        .filter(
            counts -> {
              var range = ranges.get(counts.id);
              return range == null || range.from() >= templateQuery.minuteRange().from();
            })
        .toList();
  }

  /** Returns the templates and all templates merged into them, each with its canonical template. */
  private static Map<UUID, UUID> membersOf(
      TemplateMergeGraph graph, List<TemplateCounts> candidates) {
    return graph.membersOf(
        candidates.stream().map(counts -> counts.id).toList(), TemplateStats.MAX_COUNTS);
  }

  /** Returns the active minutes by canonical template. */
  private Map<UUID, MinuteRange> activeRangesOf(TemplateQuery templateQuery, Map<UUID, UUID> groups)
      throws InterruptedException {
    var ranges = new HashMap<UUID, MinuteRange>();
    for (var batch : TemplateMergeGraph.partition(groups.keySet())) {
      templates
          .activeRanges(templateQuery.tenant(), templateQuery.service(), batch)
          .forEach(
              (id, range) -> ranges.merge(groups.getOrDefault(id, id), range, MinuteRange::union));
    }
    return ranges;
  }

  private List<Template> toTemplates(
      TemplateQuery templateQuery, TemplateMergeGraph graph, List<TemplateCounts> candidates)
      throws InterruptedException {
    var ranges = activeRangesOf(templateQuery, membersOf(graph, candidates));
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
