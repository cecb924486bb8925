package dev.sluice.api.ops;

import java.util.Optional;
import java.util.function.Supplier;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;

/** Whether the log store answers. No part of readiness: logs are taken whatever the store does. */
public final class StoreHealth implements HealthIndicator {
  private final Supplier<Optional<String>> unavailable;

  /**
   * @param unavailable why the store does not answer, empty when it does; may block
   */
  public StoreHealth(Supplier<Optional<String>> unavailable) {
    this.unavailable = unavailable;
  }

  @Override
  public Health health() {
    return unavailable
        .get()
        .map(reason -> Health.down().withDetail("reason", reason).build())
        .orElseGet(() -> Health.up().build());
  }
}
