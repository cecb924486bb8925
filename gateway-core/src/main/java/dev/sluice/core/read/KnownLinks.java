package dev.sluice.core.read;

import dev.sluice.core.port.TemplateStats;
import java.time.Duration;
import java.util.function.LongSupplier;

/**
 * The links of each tenant's templates, all of them in one question. Safe for use by many threads.
 */
public final class KnownLinks {
  /** In memory, some 200 bytes each; of more, some are not followed. */
  private static final int MOST = 200_000;

  private final TemplateStats templates;
  private final Recently<String, TemplateLinks> recently;

  /**
   * @param age how old those may be that are known already
   * @param nanos by which time passes, as {@link System#nanoTime}
   */
  public KnownLinks(TemplateStats templates, Duration age, LongSupplier nanos) {
    this.templates = templates;
    recently = new Recently<>(age, nanos, this::now);
  }

  /** As they are now. */
  TemplateLinks now(String tenant) throws InterruptedException {
    return new TemplateLinks(templates.links(tenant, MOST));
  }

  /** As they were a moment ago, for those who ask often and would not know the difference. */
  TemplateLinks recently(String tenant) throws InterruptedException {
    return recently.get(tenant);
  }
}
