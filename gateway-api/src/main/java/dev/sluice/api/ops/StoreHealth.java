package dev.sluice.api.ops;

import java.util.Optional;
import java.util.function.Supplier;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;

/** The health of the log store. It is no part of readiness: ingest does not depend on it. */
public final class StoreHealth implements HealthIndicator {
  private final Supplier<Optional<String>> unavailable;

  /**
   * @param unavailable the reason why the store is unavailable, empty while it is available; may
   *     block
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
