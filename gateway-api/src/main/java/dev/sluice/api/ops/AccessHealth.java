package dev.sluice.api.ops;

import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;

/**
 * The health of the file of API keys. While the file is invalid the previous keys stay in use, so
 * the health is up, with the reason: requests are served, and a revocation is not effective.
 */
public final class AccessHealth implements HealthIndicator {
  private final Supplier<@Nullable String> error;

  /**
   * @param error the reason why the file is not in use as it is now; null when it is
   */
  public AccessHealth(Supplier<@Nullable String> error) {
    this.error = error;
  }

  @Override
  public Health health() {
    var reason = error.get();
    return reason == null
        ? Health.up().build()
        : Health.up().withDetail("keysFileNotReloaded", reason).build();
  }
}
