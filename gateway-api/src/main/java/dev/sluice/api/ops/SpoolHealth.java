package dev.sluice.api.ops;

import dev.sluice.core.port.Spool;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;

/** Up while logs can be made safe: what the readiness of the ingest role is. */
public final class SpoolHealth implements HealthIndicator {
  private final Spool spool;

  public SpoolHealth(Spool spool) {
    this.spool = spool;
  }

  @Override
  public Health health() {
    return spool
        .unavailable()
        .map(reason -> Health.down().withDetail("reason", reason).build())
        .orElseGet(() -> Health.up().build());
  }
}
