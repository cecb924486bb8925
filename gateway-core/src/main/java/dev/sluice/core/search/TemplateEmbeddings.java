package dev.sluice.core.search;

import dev.sluice.core.port.Dictionary;
import dev.sluice.core.port.Dictionary.Entry;
import dev.sluice.core.port.Dictionary.Kind;
import dev.sluice.core.port.Embedder;
import dev.sluice.core.port.EmbeddingMeter;
import dev.sluice.core.port.TemplateVectors;
import dev.sluice.core.port.TemplateVectors.Row;
import dev.sluice.core.port.TemplateVectors.Sample;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Sees to it that every template has its vectors: whatever is in the dictionary and has none by the
 * recipe of today, be it new, or of a time when the model could not be asked or was another one.
 *
 * <p>Nothing that takes logs in waits for it, and what fails leaves no row and is tried again.
 * Other gateways may do the same at the same time; what is made twice is the same. For one thread.
 */
public final class TemplateEmbeddings {
  /** Templates that are looked at together. */
  private static final int PAGE = TemplateVectors.MOST_IDS;

  /** Rows in one write. */
  private static final int ROWS = 64;

  /**
   * The dictionary has a template before its first log is stored, and who asks for a log of it
   * should give that one time to arrive.
   */
  private static final Duration FIRST_LOG_WITHIN = Duration.ofMinutes(1);

  private final Dictionary dictionary;
  private final TemplateVectors vectors;
  private final Recipe recipe;
  private final EmbeddingMeter meter;
  private final InstantSource clock;
  private final String tenant;

  /** Up to where in the dictionary every template has its vectors. */
  private @Nullable String place;

  /** What the model will never take; asked again by the next process. */
  private final Set<UUID> refused = new HashSet<>();

  private boolean counted;

  /**
   * @param clock by which the dictionary's times are told
   */
  public TemplateEmbeddings(
      Dictionary dictionary,
      TemplateVectors vectors,
      Embedder embedder,
      EmbeddingMeter meter,
      InstantSource clock,
      String tenant) {
    this.dictionary = dictionary;
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
   * @throws Embedder.Unavailable when the model cannot be asked; what was embedded before is kept
   * @throws RuntimeException when dictionary or store cannot answer
   */
  public boolean next(Going going) throws InterruptedException {
    var page = dictionary.since(tenant, Kind.TEMPLATE, place, PAGE);
    var wanting = wanting(page.entries());
    boolean all = true;
    for (int from = 0; from < wanting.size(); from += ROWS) {
      all &= embed(wanting.subList(from, Math.min(wanting.size(), from + ROWS)), going);
    }
    if (all) {
      place = page.next();
    }
    if (!wanting.isEmpty() || !counted) {
      meter.backlog(vectors.backlog(recipe.name(), tenant));
      counted = true;
    }
    return page.last() || !all;
  }

  /** Whether to go on. */
  public interface Going {
    /**
     * Called before each template; may wait.
     *
     * @param before how long the one before took
     */
    boolean on(Duration before) throws InterruptedException;
  }

  /** Those without a row; of the linked ones too, since logs were stored with them. */
  private List<Entry> wanting(List<Entry> entries) throws InterruptedException {
    if (entries.isEmpty()) {
      return List.of();
    }
    var present = vectors.present(recipe.name(), tenant, entries.stream().map(Entry::id).toList());
    return entries.stream()
        .filter(entry -> !present.contains(entry.id()) && !refused.contains(entry.id()))
        .toList();
  }

  /** Whether all of them could be. */
  private boolean embed(List<Entry> entries, Going going) throws InterruptedException {
    var samples =
        vectors.samples(
            tenant, entries.stream().collect(Collectors.toMap(Entry::id, Entry::firstSeenNanos)));
    var rows = new ArrayList<Row>();
    boolean all = true;
    try {
      var before = Duration.ZERO;
      for (var entry : entries) {
        var sample = samples.get(entry.id());
        if (!isReady(entry, sample)) {
          all = false;
          continue;
        }
        if (!going.on(before)) {
          throw new InterruptedException("no more");
        }
        long begun = System.nanoTime();
        try {
          rows.add(row(entry, sample));
          meter.embedded(Duration.ofNanos(System.nanoTime() - begun));
        } catch (Embedder.Refused _) {
          refused.add(entry.id()); // one text must not keep all others waiting
          meter.failed();
        }
        before = Duration.ofNanos(System.nanoTime() - begun);
      }
    } catch (Embedder.Unavailable e) {
      meter.failed();
      meter.backlog(vectors.backlog(recipe.name(), tenant) - rows.size());
      throw e;
    } finally {
      if (!rows.isEmpty() && !Thread.currentThread().isInterrupted()) {
        vectors.write(recipe.name(), rows);
      }
    }
    return all;
  }

  private boolean isReady(Entry entry, @Nullable Sample sample) {
    var now = clock.instant();
    long nanos = now.getEpochSecond() * 1_000_000_000L + now.getNano();
    return sample != null || nanos - entry.firstSeenNanos() > FIRST_LOG_WITHIN.toNanos();
  }

  private Row row(Entry entry, @Nullable Sample sample) throws InterruptedException {
    var passage =
        sample == null
            ? new Passage("", "", entry.text(), "")
            : new Passage(sample.service(), sample.component(), entry.text(), sample.body());
    return new Row(tenant, passage.words(), recipe.of(entry.id(), passage));
  }
}
