package dev.sluice.core.read;

import dev.sluice.core.port.TemplateReader;
import java.time.Duration;
import java.util.function.LongSupplier;

/**
 * The links of each tenant's templates as they were a moment ago: nearly every answer needs some,
 * and they seldom change. Safe for use by many threads.
 */
public final class KnownLinks {
  /** In memory, some 200 bytes each; of more, some are not followed. */
  private static final int MOST = 200_000;

  private final Recently<String, TemplateLinks> byTenant;

  /**
   * @param age how old they may be
   * @param nanos by which time passes, as {@link System#nanoTime}
   */
  public KnownLinks(TemplateReader templates, Duration age, LongSupplier nanos) {
    byTenant =
        new Recently<>(age, nanos, tenant -> new TemplateLinks(templates.links(tenant, MOST)));
  }

  /** Those of a tenant. */
  public TemplateLinks of(String tenant) throws InterruptedException {
    return byTenant.get(tenant);
  }
}
