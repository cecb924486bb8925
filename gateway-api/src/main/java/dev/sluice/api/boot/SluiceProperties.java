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
 * @param spool where logs wait until they are stored: redis; wal, the write-ahead log on the local
 *     disk, which needs no Redis; or redis-then-wal, Redis with the log to stand in for it
 * @param instance name of this process among those that share a spool, the same after a restart; by
 *     default the host name and the HTTP port, which no two living processes of a host share
 * @param shutdownTimeout how long an orderly end may take: answering what is in hand, delivering
 *     what waits; what is left then stays in the spool
 * @param consoleMirror whether accepted logs of severity INFO and above are written to standard
 *     output
 * @param retention how long logs are kept, counted from their receipt; for ever when unset
 */
@ConfigurationProperties("sluice")
record SluiceProperties(
    @DefaultValue({"ingest", "deliver"}) Set<Role> roles,
    @DefaultValue("redis-then-wal") SpoolType spool,
    @Nullable String instance,
    @DefaultValue("30s") Duration shutdownTimeout,
    @DefaultValue("false") boolean consoleMirror,
    @Nullable Duration retention) {

  enum Role {
    INGEST,
    DELIVER
  }

  /** Where logs wait until they are stored. */
  enum SpoolType {
    REDIS,
    WAL,
    REDIS_THEN_WAL
  }

  SluiceProperties {
    if (roles.isEmpty()) {
      throw new IllegalArgumentException("sluice.roles is empty, known are ingest and deliver");
    }
    if (spool == SpoolType.WAL && !roles.contains(Role.DELIVER)) {
      throw new IllegalArgumentException(
          "sluice.spool is wal, which only this process can deliver: sluice.roles must have deliver");
    }
    PropertyChecks.requirePositive("sluice.shutdown-timeout", shutdownTimeout);
    if (retention != null) {
      PropertyChecks.requirePositive("sluice.retention", retention);
    }
  }
}
