package dev.sluice.api.config;

import dev.sluice.core.port.Scheduler;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;

/**
 * A warning each hour, and a detail of health, while other machines reach a port without keys or
 * TLS. Health stays up: the operator has allowed it.
 */
final class InsecureBindReminder implements HealthIndicator {
  private static final Logger LOG = LoggerFactory.getLogger(InsecureBindReminder.class);
  private static final Duration INTERVAL = Duration.ofHours(1);

  private final BindAddresses bind;
  private final Scheduler scheduler;

  InsecureBindReminder(BindAddresses bind, Scheduler scheduler) {
    this.bind = bind;
    this.scheduler = scheduler;
  }

  /** Schedules the warnings; none when no port is exposed. */
  void start() {
    if (bind.isExposed()) {
      scheduler.schedule(INTERVAL, this::remind);
    }
  }

  private void remind() {
    LOG.warn("{}", describe(bind));
    scheduler.schedule(INTERVAL, this::remind);
  }

  static String describe(BindAddresses bind) {
    return "insecure: sluice.security.insecure is set, and other machines can read and write all"
        + " logs: "
        + String.join("; ", bind.exposures());
  }

  @Override
  public Health health() {
    var health = Health.up().withDetail("addresses", bind.addresses());
    return (bind.isExposed() ? health.withDetail("insecure", bind.exposures()) : health).build();
  }
}
