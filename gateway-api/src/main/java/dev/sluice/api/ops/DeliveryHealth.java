package dev.sluice.api.ops;

import dev.sluice.core.delivery.DeliveryWorker;
import dev.sluice.core.port.Backlog;
import java.util.Collection;
import java.util.function.Supplier;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;

/**
 * The health of delivery: up while the spool is readable and all delivery workers run. An
 * unavailable store or a schema mismatch leaves it up, because ingest continues and no log is lost;
 * the detail {@code paused} has the reasons.
 */
public final class DeliveryHealth implements HealthIndicator {
  private final Supplier<? extends Collection<DeliveryWorker>> workers;
  private final Backlog backlog;

  public DeliveryHealth(Supplier<? extends Collection<DeliveryWorker>> workers, Backlog backlog) {
    this.workers = workers;
    this.backlog = backlog;
  }

  @Override
  public Health health() {
    var all = workers.get();
    long alive = all.stream().filter(DeliveryWorker::isAlive).count();
    var health = (alive == all.size() ? Health.up() : Health.down()).withDetail("workers", alive);
    var pauses =
        all.stream()
            .flatMap(worker -> worker.pauseState().stream())
            .map(pause -> MicrometerMetrics.label(pause.pauseReason()) + ": " + pause.detail())
            .distinct()
            .toList();
    if (!pauses.isEmpty()) {
      health.withDetail("paused", pauses);
    }
    try {
      var depth = backlog.depth();
      return health
          .withDetail("entries", depth.entries())
          .withDetail("oldest", depth.oldestAge().toString())
          .build();
    } catch (RuntimeException e) {
      return health.down().withDetail("reason", String.valueOf(e.getMessage())).build();
    }
  }
}
