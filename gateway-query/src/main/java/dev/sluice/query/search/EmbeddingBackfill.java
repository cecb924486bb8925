package dev.sluice.query.search;

import dev.sluice.query.port.Embedder;
import dev.sluice.query.port.EmbeddingMetrics;
import dev.sluice.query.port.LogReader.QueryTooExpensiveException;
import dev.sluice.query.port.TemplateStats;
import dev.sluice.query.port.TemplateStats.MinuteRange;
import dev.sluice.query.port.TemplateVectorStore;
import dev.sluice.query.port.TemplateVectorStore.TemplateSample;
import dev.sluice.query.port.TemplateVectorStore.UnembeddedTemplate;
import dev.sluice.query.port.TemplateVectorStore.VectorRow;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Embeds every template of every tenant that has no vectors of the current {@link
 * EmbeddingStrategy}: new templates, and templates from a time when the model was unavailable or
 * another one.
 *
 * <p>Ingest never waits for the backfill. A failed template leaves no row and is retried. Several
 * gateways may run a backfill concurrently; their rows for a template differ at most in the sample
 * log. Not thread-safe.
 */
public final class EmbeddingBackfill {
  /** Maximum number of templates of a page. */
  private static final int PAGE_SIZE = TemplateVectorStore.MAX_IDS;

  /** Maximum number of rows in one write, and of templates in one call of a remote model. */
  private static final int BATCH_SIZE = 64;

  /**
   * Maximum wait for the first log record of a template. The dictionary has a template before its
   * first record is stored; the wait gives that record time to arrive, since it has the service,
   * component and sample of the template.
   */
  private static final Duration FIRST_LOG_TIMEOUT = Duration.ofMinutes(1);

  /** Minimum time from the last written row to a compaction. */
  private static final Duration COMPACT_DELAY = Duration.ofSeconds(10);

  /** Minimum time between two compactions, since each rewrites all rows. */
  private static final Duration COMPACT_INTERVAL = Duration.ofMinutes(5);

  private final TemplateStats templates;
  private final TemplateVectorStore vectors;
  private final EmbeddingStrategy strategy;
  private final EmbeddingMetrics metrics;
  private final InstantSource clock;

  /** Templates by tenant whose text the model rejects; a new process tries these again. */
  private final Map<String, Set<UUID>> rejectedTemplates = new HashMap<>();

  /** The number of templates without vectors by tenant, as last known. */
  private final Map<String, Long> backlogs = new HashMap<>();

  /** Time of the last write since the last compaction; null when there is none. */
  private @Nullable Instant lastWrite;

  private Instant lastCompaction = Instant.MIN;

  /**
   * @param clock the clock that also determines the times in the dictionary
   */
  public EmbeddingBackfill(
      TemplateStats templates,
      TemplateVectorStore vectors,
      Embedder embedder,
      EmbeddingMetrics metrics,
      InstantSource clock) {
    this.templates = templates;
    this.vectors = vectors;
    strategy = new EmbeddingStrategy(embedder, Glossary.bundled());
    this.metrics = metrics;
    this.clock = clock;
  }

  /**
   * Embeds the next templates of each tenant that have no vectors.
   *
   * @param throttle the CPU limit, called between templates, so that the method ends soon when the
   *     backfill stops
   * @return whether the caller should wait before the next call, since the dictionary has no more
   *     templates, or templates wait for their first log record
   * @throws Embedder.EmbedderUnavailableException when the model is unavailable; rows that were
   *     written before stay
   * @throws RuntimeException when the dictionary or the store is unavailable
   */
  public boolean embedNextPage(Throttle throttle) throws InterruptedException {
    var tenants = vectors.tenants();
    backlogs.keySet().retainAll(tenants);
    rejectedTemplates.keySet().retainAll(tenants);
    if (tenants.isEmpty()) {
      metrics.recordBacklog(0);
    }
    boolean upToDate = true;
    boolean complete = true;
    for (var tenant : tenants) {
      var rejected = rejectedTemplates.computeIfAbsent(tenant, _ -> new HashSet<>());
      var unembedded = vectors.findUnembedded(strategy.name(), tenant, rejected, PAGE_SIZE);
      complete &= unembedded.isEmpty();
      upToDate &= embedPage(tenant, unembedded, rejected, throttle);
    }
    if (complete) {
      compact();
    }
    return upToDate;
  }

  /** Embeds a page of one tenant; returns whether it is the last one for now. */
  private boolean embedPage(
      String tenant, List<UnembeddedTemplate> unembedded, Set<UUID> rejected, Throttle throttle)
      throws InterruptedException {
    int rejectedBefore = rejected.size();
    boolean last = unembedded.size() < PAGE_SIZE; // and the page is the whole backlog
    long total =
        last ? unembedded.size() + rejectedBefore : vectors.backlog(strategy.name(), tenant);
    int rows = 0;
    try {
      for (int from = 0; from < unembedded.size(); from += BATCH_SIZE) {
        recordBacklog(tenant, total - rows); // often, since a page may take a minute
        rows +=
            embed(
                tenant,
                unembedded.subList(from, Math.min(unembedded.size(), from + BATCH_SIZE)),
                rejected,
                throttle);
      }
    } catch (Embedder.EmbedderUnavailableException e) {
      metrics.recordFailure();
      recordBacklog(tenant, vectors.backlog(strategy.name(), tenant));
      throw e;
    }
    recordBacklog(
        tenant,
        last
            ? unembedded.size() - rows + rejectedBefore
            : vectors.backlog(strategy.name(), tenant));
    boolean waiting = rows + rejected.size() - rejectedBefore < unembedded.size();
    return last || waiting;
  }

  private void recordBacklog(String tenant, long templates) {
    backlogs.put(tenant, templates);
    metrics.recordBacklog(backlogs.values().stream().mapToLong(Long::longValue).sum());
  }

  /**
   * Compacts the vector store, if the last write is long enough ago: new templates often come in
   * groups.
   */
  private void compact() throws InterruptedException {
    var now = clock.instant();
    if (lastWrite != null
        && !now.isBefore(lastWrite.plus(COMPACT_DELAY))
        && !now.isBefore(lastCompaction.plus(COMPACT_INTERVAL))) {
      lastWrite = null; // also if the compaction fails; the next write makes one due again
      lastCompaction = now;
      try {
        vectors.compact(strategy.name());
      } catch (RuntimeException _) {
        // Without a compaction, queries are slower but correct.
      }
    }
  }

  /** Limits the CPU use of the backfill. */
  public interface Throttle {
    /**
     * Waits until the backfill may continue. Called before each template, or before each batch of a
     * remote model.
     *
     * @param busyTime the time for which the previous step used a core
     * @return whether to continue; false stops the backfill
     */
    boolean awaitPermit(Duration busyTime) throws InterruptedException;
  }

  /** Embeds the templates of a batch that are ready, and returns the number of written rows. */
  private int embed(
      String tenant, List<UnembeddedTemplate> batch, Set<UUID> rejected, Throttle throttle)
      throws InterruptedException {
    // The search for samples counts as busy time too, since it can take more CPU than the model.
    long sampleStart = System.nanoTime();
    var samples = samples(tenant, batch.stream().map(UnembeddedTemplate::id).toList());
    var rows = new ArrayList<VectorRow>();
    var ready =
        batch.stream().filter(template -> isReady(template, samples.get(template.id()))).toList();
    // A local model embeds one template at a time, so that a concurrent search waits for one
    // template at most. A remote model embeds the whole batch, and needs no pause, since it uses no
    // CPU here.
    int batchSize = strategy.isRemote() ? BATCH_SIZE : 1;
    try {
      var busyTime = Duration.ofNanos(System.nanoTime() - sampleStart);
      for (int from = 0; from < ready.size(); from += batchSize) {
        if (!throttle.awaitPermit(busyTime)) {
          throw new InterruptedException("embedding backfill stopped");
        }
        long start = System.nanoTime();
        var next = ready.subList(from, Math.min(ready.size(), from + batchSize));
        embedBatch(tenant, next, samples, rejected, rows);
        busyTime = Duration.ofNanos(System.nanoTime() - start);
      }
    } finally {
      if (!rows.isEmpty() && !Thread.currentThread().isInterrupted()) {
        vectors.write(strategy.name(), rows);
        lastWrite = clock.instant();
      }
    }
    return rows.size();
  }

  /**
   * Embeds templates and adds their rows. If the model rejects one of several texts, embeds each
   * template by itself and leaves out the rejected ones.
   */
  private void embedBatch(
      String tenant,
      List<UnembeddedTemplate> batch,
      Map<UUID, TemplateSample> samples,
      Set<UUID> rejected,
      List<VectorRow> rows)
      throws InterruptedException {
    var documents = new LinkedHashMap<UUID, TemplateDocument>();
    batch.forEach(
        template -> documents.put(template.id(), toDocument(template, samples.get(template.id()))));
    long start = System.nanoTime();
    try {
      for (var vectors : strategy.embeddingsOf(documents)) {
        var document = Objects.requireNonNull(documents.get(vectors.id()));
        rows.add(new VectorRow(tenant, document.words(), vectors));
      }
    } catch (Embedder.InvalidInputException _) {
      if (batch.size() == 1) {
        reject(batch.getFirst().id(), rejected);
        metrics.recordFailure();
        return;
      }
      for (var template : batch) {
        embedBatch(tenant, List.of(template), samples, rejected, rows);
      }
      return;
    }
    var each = Duration.ofNanos((System.nanoTime() - start) / batch.size());
    batch.forEach(_ -> metrics.recordEmbedded(each));
  }

  /**
   * Returns a log record of the last active minute of each template; empty when the query is too
   * expensive.
   */
  private Map<UUID, TemplateSample> samples(String tenant, List<UUID> ids)
      throws InterruptedException {
    var minutes = new HashMap<UUID, MinuteRange>();
    templates
        .activeRanges(tenant, null, ids)
        .forEach((id, range) -> minutes.put(id, range.lastMinute()));
    try {
      return vectors.samples(tenant, minutes);
    } catch (QueryTooExpensiveException _) {
      return Map.of();
    }
  }

  /**
   * Excludes a template from further pages, so that its text does not block all other templates.
   * The set of excluded templates is bounded; an evicted template is tried again.
   */
  private static void reject(UUID id, Set<UUID> rejected) {
    if (rejected.size() == TemplateVectorStore.MAX_IDS) {
      rejected.remove(rejected.iterator().next());
    }
    rejected.add(id);
  }

  private boolean isReady(UnembeddedTemplate template, @Nullable TemplateSample sample) {
    var now = clock.instant();
    long nanos = now.getEpochSecond() * 1_000_000_000L + now.getNano();
    return sample != null || nanos - template.firstSeenNanos() > FIRST_LOG_TIMEOUT.toNanos();
  }

  private static TemplateDocument toDocument(
      UnembeddedTemplate template, @Nullable TemplateSample sample) {
    return sample == null
        ? new TemplateDocument("", "", template.text(), "")
        : new TemplateDocument(
            sample.service(), sample.component(), template.text(), sample.body());
  }
}
