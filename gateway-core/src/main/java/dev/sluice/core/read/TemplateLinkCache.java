package dev.sluice.core.read;

import dev.sluice.core.port.TemplateStats;
import java.time.Duration;
import java.util.function.LongSupplier;

/**
 * The links of each tenant's templates, all of them in one question. Safe for use by many threads.
 */
public final class TemplateLinkCache {
  /** In memory, some 200 bytes each; of more, some are not followed. */
  private static final int MAX_LINKS = 200_000;

  private final TemplateStats templates;
  private final RefreshAheadCache<String, TemplateMergeGraph> cache;

  /**
   * @param maxAge how old those may be that are known already
   * @param nanos by which time passes, as {@link System#nanoTime}
   */
  public TemplateLinkCache(TemplateStats templates, Duration maxAge, LongSupplier nanos) {
    this.templates = templates;
    cache = new RefreshAheadCache<>(maxAge, nanos, this::loadCurrent);
  }

  /** As they are now. */
  TemplateMergeGraph loadCurrent(String tenant) throws InterruptedException {
    return new TemplateMergeGraph(templates.links(tenant, MAX_LINKS));
  }

  /** As they were a moment ago, for those who ask often and would not know the difference. */
  TemplateMergeGraph getCached(String tenant) throws InterruptedException {
    return cache.get(tenant);
  }
}
