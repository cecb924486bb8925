package dev.sluice.api.ops;

import dev.sluice.core.failover.FailoverSpool;
import dev.sluice.core.port.Spool;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;

/**
 * Up while logs can be made safe: what the readiness of the ingest role is. That they are not safe
 * where they usually are changes nothing for clients; it is told as {@code failover}.
 */
public final class SpoolHealth implements HealthIndicator {
  private final Spool spool;
  private final @Nullable FailoverSpool failover;
  private final boolean delivers;

  /**
   * @param failover null where nothing stands in for the spool
   * @param delivers whether this process delivers what the stand-in has
   */
  public SpoolHealth(Spool spool, @Nullable FailoverSpool failover, boolean delivers) {
    this.spool = spool;
    this.failover = failover;
    this.delivers = delivers;
  }

  @Override
  public Health health() {
    var health =
        spool
            .unavailableReason()
            .map(reason -> Health.down().withDetail("reason", reason))
            .orElseGet(Health::up);
    if (failover != null) {
      addFailoverDetails(failover.failoverStatus(), health);
    }
    return health.build();
  }

  private void addFailoverDetails(FailoverSpool.FailoverStatus status, Health.Builder health) {
    if (!status.firstTakesLogs()) {
      health.withDetail(
          "failover",
          "the write-ahead log takes the logs, which "
              + (delivers ? "are delivered from there" : "wait there for Redis")
              + ", since Redis does not take them: "
              + status.reason());
    } else if (status.waitingInSecond() > 0) {
      health.withDetail("failover", "the write-ahead log gives its logs back to Redis");
    }
    if (!status.firstTakesLogs() || status.waitingInSecond() > 0) {
      health.withDetail("waiting", status.waitingInSecond());
    }
  }
}
