package dev.sluice.api.ops;

import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.Spool;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.concurrent.atomic.AtomicLong;

/** The gauges that are read at each scrape: spool backlog and drain, memory. */
public final class GatewayGauges implements MeterBinder {
  private final Backlog backlog;
  private final Spool spool;
  private final MemoryBudget budget;
  private final AtomicLong maxAcked = new AtomicLong();

  public GatewayGauges(Backlog backlog, Spool spool, MemoryBudget budget) {
    this.backlog = backlog;
    this.spool = spool;
    this.budget = budget;
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    Gauge.builder("sluice.spool.entries", this::entries)
        .description("Spool entries not yet acked; NaN while the spool is unavailable")
        .register(registry);
    Gauge.builder("sluice.spool.oldest.age", this::oldestAgeSeconds)
        .description("Age of the oldest spool entry")
        .baseUnit("seconds")
        .register(registry);
    Gauge.builder("sluice.spool.records", this::backlogRecords)
        .description("Approximate number of log records in the spool")
        .register(registry);
    FunctionCounter.builder("sluice.spool.acked", this, GatewayGauges::acked)
        .description("Log records acked over the life of the spool; its rate is the drain rate")
        .register(registry);
    Gauge.builder("sluice.ingest.in.flight", budget, MemoryBudget::used)
        .description("Memory of the requests in flight")
        .baseUnit("bytes")
        .register(registry);
  }

  private Number backlogRecords() {
    var status = spool.status().toCompletableFuture().join();
    return isKnown(status) ? status.pendingRecords() : Double.NaN;
  }

  /** Returns a count that never decreases; a decrease would look like a counter reset. */
  private double acked() {
    var status = spool.status().toCompletableFuture().join();
    return isKnown(status)
        ? maxAcked.accumulateAndGet(status.deliveredRecords(), Math::max)
        : maxAcked.get();
  }

  /** Whether the status has counts: a full spool has them, an unreachable one does not. */
  private static boolean isKnown(Spool.SpoolStatus status) {
    return status.outageReason() == null || status.deliveredRecords() > 0;
  }

  private Number entries() {
    try {
      return backlog.depth().entries();
    } catch (RuntimeException _) {
      return Double.NaN;
    }
  }

  private Number oldestAgeSeconds() {
    try {
      return backlog.depth().oldestAge().toMillis() / 1000.0;
    } catch (RuntimeException _) {
      return Double.NaN;
    }
  }
}
