package dev.sluice.api.ops;

import dev.sluice.core.delivery.DeliveryWorker;
import dev.sluice.core.port.Backlog;
import java.util.Collection;
import java.util.function.Supplier;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;

/**
 * Up while the spool can be read and every shard's worker runs. A store that is away, a table that
 * is not as it should be, dead letters that are full do not change it, since logs are taken and
 * nothing is lost; they are told as {@code trouble}.
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
      health.withDetail("trouble", pauses);
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
