package dev.sluice.api.ops;

import dev.sluice.core.failover.FailoverSpool;
import dev.sluice.core.port.Spool;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;

/**
 * The health of the spool, which is the readiness of the role ingest: up while the spool accepts
 * durable logs. A failover leaves it up; the detail {@code failover} describes it.
 */
public final class SpoolHealth implements HealthIndicator {
  private final Spool spool;
  private final @Nullable FailoverSpool failover;

  /**
   * @param failover the failover from Redis; null when the spool has no fallback
   */
  public SpoolHealth(Spool spool, @Nullable FailoverSpool failover) {
    this.spool = spool;
    this.failover = failover;
  }

  @Override
  public Health health() {
    var reason = spool.status().toCompletableFuture().join().unavailableReason();
    var health = reason == null ? Health.up() : Health.down().withDetail("reason", reason);
    if (failover != null) {
      addFailoverDetails(failover.failoverStatus(), health);
    }
    return health.build();
  }

  private void addFailoverDetails(FailoverSpool.FailoverStatus status, Health.Builder health) {
    if (!status.primaryAvailable()) {
      health.withDetail(
          "failover",
          "Redis rejects logs; the write-ahead log accepts them and delivers them: "
              + status.reason());
    } else if (status.fallbackRecords() > 0) {
      health.withDetail("failover", "the write-ahead log delivers its last logs");
    }
    if (!status.primaryAvailable() || status.fallbackRecords() > 0) {
      health.withDetail("fallbackRecords", status.fallbackRecords());
    }
  }
}
