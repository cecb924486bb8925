package dev.sluice.core.search;

import dev.sluice.core.port.Embedder;
import dev.sluice.core.port.EmbeddingMetrics;
import dev.sluice.core.port.LogReader.QueryTooExpensiveException;
import dev.sluice.core.port.TemplateStats;
import dev.sluice.core.port.TemplateStats.MinuteRange;
import dev.sluice.core.port.TemplateVectorStore;
import dev.sluice.core.port.TemplateVectorStore.TemplateSample;
import dev.sluice.core.port.TemplateVectorStore.UnembeddedTemplate;
import dev.sluice.core.port.TemplateVectorStore.VectorRow;
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
 * Sees to it that every template has its vectors: whatever is in the dictionary and has none by the
 * recipe of today, be it new, or of a time when the model could not be asked or was another one.
 *
 * <p>Nothing that takes logs in waits for it, and what fails leaves no row and is tried again.
 * Other gateways may do the same at the same time; what is made twice has the same template, and at
 * most another log for its sample. For one thread.
 */
public final class EmbeddingBackfill {
  /** Templates that are looked at together. */
  private static final int PAGE_SIZE = TemplateVectorStore.MAX_IDS;

  /** Rows in one write, and templates that a model elsewhere is asked for together. */
  private static final int BATCH_SIZE = 64;

  /**
   * The dictionary has a template before its first log is stored, and who asks for a log of it
   * should give that one time to arrive.
   */
  private static final Duration FIRST_LOG_TIMEOUT = Duration.ofMinutes(1);

  /** From the last row that was written. */
  private static final Duration COMPACT_DELAY = Duration.ofSeconds(10);

  /** From one time to the next: all rows are written again. */
  private static final Duration COMPACT_INTERVAL = Duration.ofMinutes(5);

  private final TemplateStats templates;
  private final TemplateVectorStore vectors;
  private final EmbeddingStrategy strategy;
  private final EmbeddingMetrics metrics;
  private final InstantSource clock;
  private final String tenant;

  /** What the model will never take; asked again by the next process. */
  private final Set<UUID> rejected = new HashSet<>();

  /** When the last row was that is not settled yet; null when all are. */
  private @Nullable Instant lastWrite;

  private Instant lastCompaction = Instant.MIN;

  /**
   * @param clock by which the dictionary's times are told
   */
  public EmbeddingBackfill(
      TemplateStats templates,
      TemplateVectorStore vectors,
      Embedder embedder,
      EmbeddingMetrics metrics,
      InstantSource clock,
      String tenant) {
    this.templates = templates;
    this.vectors = vectors;
    strategy = new EmbeddingStrategy(embedder, Glossary.bundled());
    this.metrics = metrics;
    this.clock = clock;
    this.tenant = tenant;
  }

  /**
   * Embeds the next templates that have no vectors.
   *
   * @param throttle asked between templates, so that it ends soon when it is to end
   * @return whether there is nothing to do until the dictionary has more
   * @throws Embedder.EmbedderUnavailableException when the model cannot be asked; what was embedded
   *     before is kept
   * @throws RuntimeException when dictionary or store cannot answer
   */
  public boolean embedNextPage(Throttle throttle) throws InterruptedException {
    var unembedded = vectors.findUnembedded(strategy.name(), tenant, rejected, PAGE_SIZE);
    int rejectedBefore = rejected.size();
    boolean last = unembedded.size() < PAGE_SIZE; // and so it is known how many there are
    long total =
        last ? unembedded.size() + rejectedBefore : vectors.backlog(strategy.name(), tenant);
    int rows = 0;
    try {
      for (int from = 0; from < unembedded.size(); from += BATCH_SIZE) {
        metrics.recordBacklog(total - rows); // a page takes a minute, by a small share of a core
        rows +=
            embed(
                unembedded.subList(from, Math.min(unembedded.size(), from + BATCH_SIZE)), throttle);
      }
    } catch (Embedder.EmbedderUnavailableException e) {
      metrics.recordFailure();
      metrics.recordBacklog(vectors.backlog(strategy.name(), tenant));
      throw e;
    }
    metrics.recordBacklog(
        last
            ? unembedded.size() - rows + rejectedBefore
            : vectors.backlog(strategy.name(), tenant));
    boolean waiting = rows + rejected.size() - rejectedBefore < unembedded.size();
    if (unembedded.isEmpty()) {
      compact();
    }
    return last || waiting;
  }

  /** Not at once, since where a new template came from more may be coming. */
  private void compact() throws InterruptedException {
    var now = clock.instant();
    if (lastWrite != null
        && !now.isBefore(lastWrite.plus(COMPACT_DELAY))
        && !now.isBefore(lastCompaction.plus(COMPACT_INTERVAL))) {
      lastWrite = null; // if it fails, then until there is more
      lastCompaction = now;
      try {
        vectors.compact(strategy.name());
      } catch (RuntimeException _) {
        // they stay as they are, which only takes longer to ask
      }
    }
  }

  /** Whether to go on. */
  public interface Throttle {
    /**
     * Called before each template, or before several that are asked for together; may wait.
     *
     * @param busyTime for how long what was before took a core
     */
    boolean awaitPermit(Duration busyTime) throws InterruptedException;
  }

  /** How many of them could be. */
  private int embed(List<UnembeddedTemplate> batch, Throttle throttle) throws InterruptedException {
    // looking for a log among millions costs more than embedding it: both have one share
    long sampleStart = System.nanoTime();
    var samples = samples(batch.stream().map(UnembeddedTemplate::id).toList());
    var rows = new ArrayList<VectorRow>();
    var ready =
        batch.stream().filter(template -> isReady(template, samples.get(template.id()))).toList();
    // one by one where each takes a core, and a question that comes meanwhile is to wait for one;
    // elsewhere all of them, after which there is nothing to rest from
    int batchSize = strategy.isRemote() ? BATCH_SIZE : 1;
    try {
      var busyTime = Duration.ofNanos(System.nanoTime() - sampleStart);
      for (int from = 0; from < ready.size(); from += batchSize) {
        if (!throttle.awaitPermit(busyTime)) {
          throw new InterruptedException("no more");
        }
        long start = System.nanoTime();
        embedBatch(ready.subList(from, Math.min(ready.size(), from + batchSize)), samples, rows);
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

  /** Those that the model takes; where it refuses one of several, each by itself. */
  private void embedBatch(
      List<UnembeddedTemplate> batch, Map<UUID, TemplateSample> samples, List<VectorRow> rows)
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
        reject(batch.getFirst().id());
        metrics.recordFailure();
        return;
      }
      for (var template : batch) {
        embedBatch(List.of(template), samples, rows);
      }
      return;
    }
    var each = Duration.ofNanos((System.nanoTime() - start) / batch.size());
    batch.forEach(_ -> metrics.recordEmbedded(each));
  }

  /** Of the last minute of each; none where that would be too much. */
  private Map<UUID, TemplateSample> samples(List<UUID> ids) throws InterruptedException {
    var minutes = new HashMap<UUID, MinuteRange>();
    templates
        .activeRanges(tenant, null, ids)
        .forEach((id, came) -> minutes.put(id, came.lastMinute()));
    try {
      return vectors.samples(tenant, minutes);
    } catch (QueryTooExpensiveException _) {
      return Map.of();
    }
  }

  /** One text must not keep all others waiting. */
  private void reject(UUID id) {
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
