package dev.sluice.query.read;

import dev.sluice.query.filter.LogFilter;
import dev.sluice.query.port.LogReader.QueryTooExpensiveException;
import dev.sluice.query.port.TemplateStats;
import dev.sluice.query.port.TemplateStats.BucketLayout;
import dev.sluice.query.port.TemplateStats.CountBucket;
import dev.sluice.query.port.TemplateStats.MinuteRange;
import dev.sluice.query.port.TemplateStats.SampleLog;
import dev.sluice.query.port.TemplateStats.ServiceActivity;
import dev.sluice.query.port.TemplateStats.TemplateQuery;
import dev.sluice.query.read.TemplateReport.Template;
import dev.sluice.templates.dictionary.Dictionary;
import dev.sluice.templates.dictionary.Dictionary.DictionaryEntry;
import dev.sluice.templates.dictionary.Dictionary.EntryKind;
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
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Summarizes a few canonical templates for a search result: counts, active minutes, counts over
 * time, and the newest log records. A summary includes the templates merged into the canonical one.
 *
 * <p>Safe for use by many threads; all methods block.
 */
public final class TemplateSummaries {
  /**
   * Maximum size of the cached texts in bytes, for texts with one byte per character; other texts
   * take up to twice as much memory.
   */
  private static final long TEXT_CACHE_BYTES = 4 << 20;

  private final TemplateStats templates;
  private final TemplateLinkCache links;
  private final LruCache<String> texts;
  private final NewestLogFinder newestLogFinder;

  public TemplateSummaries(
      TemplateStats templates, Dictionary dictionary, TemplateLinkCache links) {
    this.templates = templates;
    this.links = links;
    texts =
        new LruCache<>(
            TEXT_CACHE_BYTES,
            String::length,
            (tenant, ids) ->
                dictionary.find(tenant, EntryKind.TEMPLATE, ids).stream()
                    .collect(Collectors.toMap(DictionaryEntry::id, DictionaryEntry::text)));
    newestLogFinder = new NewestLogFinder(templates);
  }

  /**
   * @param summaries the summaries in the order of the queried templates
   * @param startMinute the first minute of the first bucket
   * @param bucketMinutes minutes in a bucket
   */
  public record SummaryResult(
      List<TemplateSummary> summaries, long startMinute, long bucketMinutes) {
    public SummaryResult {
      summaries = List.copyOf(summaries);
    }
  }

  /**
   * @param bucketCounts records in each bucket; the buckets span the part of the queried time range
   *     in which any of the templates has records
   * @param newestLogs the newest records, newest first
   */
  public record TemplateSummary(
      Template template, List<Long> bucketCounts, List<SampleLog> newestLogs) {
    public TemplateSummary {
      bucketCounts = List.copyOf(bucketCounts);
      newestLogs = List.copyOf(newestLogs);
    }
  }

  /**
   * Summarizes templates.
   *
   * @param templateQuery the records to count, without template ids
   * @param filter the records to return; it is needed beside the template query, since counts by
   *     minute have neither instants nor attributes
   * @param canonicalIds the canonical templates, at most {@link TemplateStats#MAX_IDS}
   * @param bucketCount number of buckets into which to divide the time range, at least 1
   * @param logsPerTemplate maximum number of records per template, at least 1
   */
  public SummaryResult summarize(
      TemplateQuery templateQuery,
      LogFilter filter,
      List<UUID> canonicalIds,
      int bucketCount,
      int logsPerTemplate)
      throws InterruptedException {
    if (canonicalIds.isEmpty()) {
      return new SummaryResult(List.of(), templateQuery.minuteRange().from(), 1);
    }
    var groups =
        links.getCached(templateQuery.tenant()).membersOf(canonicalIds, TemplateStats.MAX_IDS);
    var ids = groups.keySet();
    var lookup =
        new NewestLogFinder.Lookup(templateQuery.withIds(ids), filter, groups, logsPerTemplate);
    // These queries run concurrently, since none needs the result of another.
    try (var texts = AsyncTask.start(() -> this.texts.get(templateQuery.tenant(), canonicalIds))) {
      var activity =
          templates.serviceActivity(templateQuery.tenant(), templateQuery.service(), ids);
      try (var latestSamples =
          AsyncTask.start(() -> newestLogFinder.latestSamples(lookup, activity))) {
        var layout = BucketLayout.of(templateQuery.minuteRange(), activity, bucketCount);
        var builders = new LinkedHashMap<UUID, SummaryBuilder>();
        canonicalIds.forEach(
            canonicalId -> builders.put(canonicalId, new SummaryBuilder(canonicalId, layout)));
        addToGroups(builders, groups, activity, ServiceActivity::id, SummaryBuilder::add);
        var counts = queryCounts(templateQuery.withIds(ids), layout, activity);
        addToGroups(builders, groups, counts.buckets, CountBucket::id, SummaryBuilder::add);
        var buckets = new HashMap<UUID, List<CountBucket>>();
        builders.forEach((canonicalId, builder) -> buckets.put(canonicalId, builder.buckets));
        var logs = newestLogFinder.find(lookup, buckets, latestSamples.get());
        var textsById = texts.get();
        var summaries = new ArrayList<TemplateSummary>();
        builders.forEach(
            (canonicalId, builder) ->
                summaries.add(
                    new TemplateSummary(
                        builder.counts.toTemplate(textsById.get(canonicalId), builder.activeRange),
                        Arrays.stream(builder.bucketCounts)
                            .limit(counts.layout.bucketCount())
                            .boxed()
                            .toList(),
                        logs.getOrDefault(canonicalId, List.of()))));
        return new SummaryResult(
            summaries, counts.layout.firstMinute(), counts.layout.bucketMinutes());
      }
    }
  }

  private static <T> void addToGroups(
      Map<UUID, SummaryBuilder> builders,
      Map<UUID, UUID> groups,
      List<T> found,
      Function<T, UUID> id,
      BiConsumer<SummaryBuilder, T> add) {
    for (var one : found) {
      var builder = builders.get(groups.get(id.apply(one)));
      if (builder != null) {
        add.accept(builder, one);
      }
    }
  }

  private record BucketedCounts(BucketLayout layout, List<CountBucket> buckets) {}

  /** Queries the counts; with a single bucket if the counts of all buckets are too expensive. */
  private BucketedCounts queryCounts(
      TemplateQuery templateQuery, BucketLayout layout, List<ServiceActivity> activity)
      throws InterruptedException {
    try {
      return new BucketedCounts(layout, templates.countBuckets(templateQuery, layout));
    } catch (QueryTooExpensiveException _) {
      var singleBucket = BucketLayout.of(templateQuery.minuteRange(), activity, 1);
      return new BucketedCounts(singleBucket, templates.countBuckets(templateQuery, singleBucket));
    }
  }

  /** Returns the cached merge links of a tenant's templates. */
  public TemplateMergeGraph mergeGraph(String tenant) throws InterruptedException {
    return links.getCached(tenant);
  }

  /** Returns the texts of templates; a template that the dictionary does not have is left out. */
  public Map<UUID, String> texts(String tenant, Collection<UUID> ids) throws InterruptedException {
    return texts.get(tenant, ids);
  }

  /** Collects the parts of the summary of one template. */
  private static final class SummaryBuilder {
    private final TemplateCounts counts;
    private final long[] bucketCounts;
    private final List<CountBucket> buckets = new ArrayList<>();
    private @Nullable MinuteRange activeRange;

    SummaryBuilder(UUID id, BucketLayout layout) {
      counts = new TemplateCounts(id);
      bucketCounts = new long[layout.bucketCount()];
    }

    void add(CountBucket bucket) {
      counts.add(bucket);
      if (bucket.bucket() != CountBucket.PRECEDING) {
        bucketCounts[Math.toIntExact(bucket.bucket())] += bucket.count();
        buckets.add(bucket);
      }
    }

    void add(ServiceActivity other) {
      activeRange =
          activeRange == null ? other.minuteRange() : activeRange.union(other.minuteRange());
    }
  }
}
