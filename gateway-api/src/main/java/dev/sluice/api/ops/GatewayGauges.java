package dev.sluice.api.ops;

import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.DeadLetterQueue;
import dev.sluice.core.port.DeadLetterQueue.Capacity;
import dev.sluice.core.port.Spool;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.ToLongFunction;

/**
 * What is asked for when Prometheus comes by: how deep the spool is and how fast it drains, how
 * full the memory and the dead letters are.
 */
public final class GatewayGauges implements MeterBinder {
  private final Backlog backlog;
  private final Spool spool;
  private final DeadLetterQueue deadLetterQueue;
  private final MemoryBudget budget;
  private final AtomicLong maxAcked = new AtomicLong();

  public GatewayGauges(
      Backlog backlog, Spool spool, DeadLetterQueue deadLetterQueue, MemoryBudget budget) {
    this.backlog = backlog;
    this.spool = spool;
    this.deadLetterQueue = deadLetterQueue;
    this.budget = budget;
  }

  @Override
  public void bindTo(MeterRegistry registry) {
    Gauge.builder("sluice.spool.entries", this::entries)
        .description("Spool entries not yet settled; not a number while the spool is away")
        .register(registry);
    Gauge.builder("sluice.spool.oldest.age", this::oldestAgeSeconds)
        .description("Age of the oldest spool entry")
        .baseUnit("seconds")
        .register(registry);
    Gauge.builder("sluice.spool.records", this::backlogRecords)
        .description("Log records in the spool, about")
        .register(registry);
    FunctionCounter.builder("sluice.spool.acked", this, GatewayGauges::acked)
        .description("Log records settled over the life of the spool; its rate is the drain")
        .register(registry);
    Gauge.builder(
            "sluice.dead.letters", deadLetterQueue, d -> deadLetterCapacity(d, Capacity::used))
        .description("Log records that the store refused and that wait for somebody")
        .register(registry);
    Gauge.builder(
            "sluice.dead.letters.capacity",
            deadLetterQueue,
            d -> deadLetterCapacity(d, Capacity::max))
        .description("How many dead letters there may be; then delivery waits")
        .register(registry);
    Gauge.builder("sluice.ingest.in.flight", budget, MemoryBudget::used)
        .description("Bytes that unanswered requests hold")
        .baseUnit("bytes")
        .register(registry);
  }

  private Number backlogRecords() {
    var status = spool.spoolStatus().toCompletableFuture().join();
    return isKnown(status) ? status.pendingRecords() : Double.NaN;
  }

  /** Never less than before, which would look like another spool. */
  private double acked() {
    var status = spool.spoolStatus().toCompletableFuture().join();
    return isKnown(status)
        ? maxAcked.accumulateAndGet(status.deliveredRecords(), Math::max)
        : maxAcked.get();
  }

  /** A spool that is full is unavailable too and has figures; one that is away has none. */
  private static boolean isKnown(Spool.SpoolStatus status) {
    return status.outageReason() == null || status.deliveredRecords() > 0;
  }

  private static double deadLetterCapacity(
      DeadLetterQueue deadLetterQueue, ToLongFunction<Capacity> value) {
    try {
      return value.applyAsLong(deadLetterQueue.capacity());
    } catch (RuntimeException _) {
      return Double.NaN;
    }
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
