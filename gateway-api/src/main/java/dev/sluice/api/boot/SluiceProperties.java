package dev.sluice.api.boot;

import java.time.Duration;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * What this process is.
 *
 * @param roles what it does: take logs, deliver them, or both
 * @param instance name of this process among those that share a spool, the same after a restart; by
 *     default the host name and the HTTP port, which no two living processes of a host share
 * @param shutdownBudget how long an orderly end may take: answering what is in hand, delivering
 *     what waits; what is left then stays in the spool
 * @param retention how long logs are kept, counted from their receipt; for ever when unset
 */
@ConfigurationProperties("sluice")
record SluiceProperties(
    @DefaultValue({"ingest", "deliver"}) Set<Role> roles,
    @Nullable String instance,
    @DefaultValue("30s") Duration shutdownBudget,
    @Nullable Duration retention) {

  enum Role {
    INGEST,
    DELIVER
  }

  SluiceProperties {
    if (roles.isEmpty()) {
      throw new IllegalArgumentException("sluice.roles is empty, known are ingest and deliver");
    }
    Setting.requirePositive("sluice.shutdown-budget", shutdownBudget);
    if (retention != null) {
      Setting.requirePositive("sluice.retention", retention);
    }
  }
}
