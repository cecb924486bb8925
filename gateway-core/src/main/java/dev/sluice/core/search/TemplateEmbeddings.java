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
public final class TemplateEmbeddings {
  /** Templates that are looked at together. */
  private static final int PAGE = TemplateVectorStore.MAX_IDS;

  /** Rows in one write, and templates that a model elsewhere is asked for together. */
  private static final int ROWS = 64;

  /**
   * The dictionary has a template before its first log is stored, and who asks for a log of it
   * should give that one time to arrive.
   */
  private static final Duration FIRST_LOG_WITHIN = Duration.ofMinutes(1);

  /** From the last row that was written. */
  private static final Duration SETTLE_AFTER = Duration.ofSeconds(10);

  /** From one time to the next: all rows are written again. */
  private static final Duration SETTLE_AGAIN = Duration.ofMinutes(5);

  private final TemplateStats templates;
  private final TemplateVectorStore vectors;
  private final Recipe recipe;
  private final EmbeddingMetrics meter;
  private final InstantSource clock;
  private final String tenant;

  /** What the model will never take; asked again by the next process. */
  private final Set<UUID> refused = new HashSet<>();

  /** When the last row was that is not settled yet; null when all are. */
  private @Nullable Instant written;

  private Instant settled = Instant.MIN;

  /**
   * @param clock by which the dictionary's times are told
   */
  public TemplateEmbeddings(
      TemplateStats templates,
      TemplateVectorStore vectors,
      Embedder embedder,
      EmbeddingMetrics meter,
      InstantSource clock,
      String tenant) {
    this.templates = templates;
    this.vectors = vectors;
    recipe = new Recipe(embedder, Glossary.bundled());
    this.meter = meter;
    this.clock = clock;
    this.tenant = tenant;
  }

  /**
   * Embeds the next templates that have no vectors.
   *
   * @param going asked between templates, so that it ends soon when it is to end
   * @return whether there is nothing to do until the dictionary has more
   * @throws Embedder.EmbedderUnavailableException when the model cannot be asked; what was embedded
   *     before is kept
   * @throws RuntimeException when dictionary or store cannot answer
   */
  public boolean next(Going going) throws InterruptedException {
    var wanting = vectors.findUnembedded(recipe.name(), tenant, refused, PAGE);
    int before = refused.size();
    boolean last = wanting.size() < PAGE; // and so it is known how many there are
    long all = last ? wanting.size() + before : vectors.backlog(recipe.name(), tenant);
    int rows = 0;
    try {
      for (int from = 0; from < wanting.size(); from += ROWS) {
        meter.recordBacklog(all - rows); // a page takes a minute, by a small share of a core
        rows += embed(wanting.subList(from, Math.min(wanting.size(), from + ROWS)), going);
      }
    } catch (Embedder.EmbedderUnavailableException e) {
      meter.recordFailure();
      meter.recordBacklog(vectors.backlog(recipe.name(), tenant));
      throw e;
    }
    meter.recordBacklog(
        last ? wanting.size() - rows + before : vectors.backlog(recipe.name(), tenant));
    boolean waiting = rows + refused.size() - before < wanting.size();
    if (wanting.isEmpty()) {
      settle();
    }
    return last || waiting;
  }

  /** Not at once, since where a new template came from more may be coming. */
  private void settle() throws InterruptedException {
    var now = clock.instant();
    if (written != null
        && !now.isBefore(written.plus(SETTLE_AFTER))
        && !now.isBefore(settled.plus(SETTLE_AGAIN))) {
      written = null; // if it fails, then until there is more
      settled = now;
      try {
        vectors.compact(recipe.name());
      } catch (RuntimeException _) {
        // they stay as they are, which only takes longer to ask
      }
    }
  }

  /** Whether to go on. */
  public interface Going {
    /**
     * Called before each template, or before several that are asked for together; may wait.
     *
     * @param before for how long what was before took a core
     */
    boolean on(Duration before) throws InterruptedException;
  }

  /** How many of them could be. */
  private int embed(List<UnembeddedTemplate> some, Going going) throws InterruptedException {
    // looking for a log among millions costs more than embedding it: both have one share
    long asked = System.nanoTime();
    var samples = samples(some.stream().map(UnembeddedTemplate::id).toList());
    var rows = new ArrayList<VectorRow>();
    var ready = some.stream().filter(one -> isReady(one, samples.get(one.id()))).toList();
    // one by one where each takes a core, and a question that comes meanwhile is to wait for one;
    // elsewhere all of them, after which there is nothing to rest from
    int atOnce = recipe.isElsewhere() ? ROWS : 1;
    try {
      var before = Duration.ofNanos(System.nanoTime() - asked);
      for (int from = 0; from < ready.size(); from += atOnce) {
        if (!going.on(before)) {
          throw new InterruptedException("no more");
        }
        long begun = System.nanoTime();
        add(ready.subList(from, Math.min(ready.size(), from + atOnce)), samples, rows);
        before = Duration.ofNanos(System.nanoTime() - begun);
      }
    } finally {
      if (!rows.isEmpty() && !Thread.currentThread().isInterrupted()) {
        vectors.write(recipe.name(), rows);
        written = clock.instant();
      }
    }
    return rows.size();
  }

  /** Those that the model takes; where it refuses one of several, each by itself. */
  private void add(
      List<UnembeddedTemplate> some, Map<UUID, TemplateSample> samples, List<VectorRow> rows)
      throws InterruptedException {
    var passages = new LinkedHashMap<UUID, Passage>();
    some.forEach(one -> passages.put(one.id(), passage(one, samples.get(one.id()))));
    long begun = System.nanoTime();
    try {
      for (var made : recipe.of(passages)) {
        var passage = Objects.requireNonNull(passages.get(made.id()));
        rows.add(new VectorRow(tenant, passage.words(), made));
      }
    } catch (Embedder.InvalidInputException _) {
      if (some.size() == 1) {
        refuse(some.getFirst().id());
        meter.recordFailure();
        return;
      }
      for (var one : some) {
        add(List.of(one), samples, rows);
      }
      return;
    }
    var each = Duration.ofNanos((System.nanoTime() - begun) / some.size());
    some.forEach(_ -> meter.recordEmbedded(each));
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
  private void refuse(UUID id) {
    if (refused.size() == TemplateVectorStore.MAX_IDS) {
      refused.remove(refused.iterator().next());
    }
    refused.add(id);
  }

  private boolean isReady(UnembeddedTemplate one, @Nullable TemplateSample sample) {
    var now = clock.instant();
    long nanos = now.getEpochSecond() * 1_000_000_000L + now.getNano();
    return sample != null || nanos - one.firstSeenNanos() > FIRST_LOG_WITHIN.toNanos();
  }

  private static Passage passage(UnembeddedTemplate one, @Nullable TemplateSample sample) {
    return sample == null
        ? new Passage("", "", one.text(), "")
        : new Passage(sample.service(), sample.component(), one.text(), sample.body());
  }
}
