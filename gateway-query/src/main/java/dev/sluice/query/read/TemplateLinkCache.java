package dev.sluice.query.read;

import dev.sluice.query.port.TemplateStats;
import java.time.Duration;
import java.util.function.LongSupplier;

/**
 * A cache of the merge links of templates; one query loads all links of a tenant. Safe for use by
 * many threads.
 */
public final class TemplateLinkCache {
  /**
   * Maximum number of links of a tenant, each with some 200 bytes in memory; the links beyond it
   * are ignored.
   */
  private static final int MAX_LINKS = 200_000;

  private final TemplateStats templates;
  private final RefreshAheadCache<String, TemplateMergeGraph> cache;

  /**
   * @param maxAge the age from which on cached links are refreshed
   * @param nanos the clock in nanoseconds, as {@link System#nanoTime}
   */
  public TemplateLinkCache(TemplateStats templates, Duration maxAge, LongSupplier nanos) {
    this.templates = templates;
    cache = new RefreshAheadCache<>(maxAge, nanos, this::loadCurrent);
  }

  /** Loads the current links. */
  TemplateMergeGraph loadCurrent(String tenant) throws InterruptedException {
    return new TemplateMergeGraph(templates.links(tenant, MAX_LINKS));
  }

  /** Returns cached links, for frequent queries to which slightly old links do not matter. */
  TemplateMergeGraph getCached(String tenant) throws InterruptedException {
    return cache.get(tenant);
  }
}
