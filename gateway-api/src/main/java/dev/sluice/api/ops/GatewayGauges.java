package dev.sluice.api.ops;

import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.port.Backlog;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;

/** What is asked for when Prometheus comes by: how deep the spool is, how full the memory. */
public final class GatewayGauges implements MeterBinder {
  private final Backlog backlog;
  private final MemoryBudget budget;

  public GatewayGauges(Backlog backlog, MemoryBudget budget) {
    this.backlog = backlog;
    this.budget = budget;
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    Gauge.builder("sluice.spool.entries", this::entries)
        .description("Spool entries not yet settled; not a number while the spool is away")
        .register(registry);
    Gauge.builder("sluice.spool.oldest.age", this::oldestSeconds)
        .description("Age of the oldest spool entry")
        .baseUnit("seconds")
        .register(registry);
    Gauge.builder("sluice.ingest.in.flight", budget, MemoryBudget::used)
        .description("Bytes that unanswered requests hold")
        .baseUnit("bytes")
        .register(registry);
  }

  private Number entries() {
    try {
      return backlog.depth().entries();
    } catch (RuntimeException _) {
      return Double.NaN;
    }
  }

  private Number oldestSeconds() {
    try {
      return backlog.depth().oldest().toMillis() / 1000.0;
    } catch (RuntimeException _) {
      return Double.NaN;
    }
  }
}
