package dev.sluice.api.config;

import java.time.Duration;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The roles and the general settings of this process.
 *
 * @param bind address that all ports listen on; an address other than loopback needs keys and TLS
 * @param roles roles of this process: ingest, deliver or both
 * @param spool spool that keeps logs until they are in ClickHouse: redis; wal, the write-ahead log
 *     on the local disk, without Redis; or redis-then-wal, Redis with the write-ahead log as
 *     fallback, which each process delivers itself, whatever its roles
 * @param instance name of this process among those that share a spool, stable across restarts;
 *     unset means the host name and the HTTP port, which are unique among the running processes of
 *     a host
 * @param shutdownTimeout time that an orderly shutdown may take to answer requests in flight and to
 *     deliver the backlog; the rest of the backlog stays in the spool
 * @param consoleMirror whether accepted logs of severity INFO and above are also written to
 *     standard output
 * @param retention time after receipt at which ClickHouse deletes logs, at least 1s; unset means
 *     never
 * @param deadLetterRetention time after its last change at which ClickHouse deletes a dead letter,
 *     replayed, purged or not, at least 1s; unset means never
 */
@ConfigurationProperties("sluice")
record SluiceProperties(
    @DefaultValue("127.0.0.1") String bind,
    @DefaultValue({"ingest", "deliver"}) Set<Role> roles,
    @DefaultValue("redis-then-wal") String spool,
    @Nullable String instance,
    @DefaultValue("30s") Duration shutdownTimeout,
    @DefaultValue("false") boolean consoleMirror,
    @Nullable Duration retention,
    @Nullable Duration deadLetterRetention) {

  enum Role {
    INGEST,
    DELIVER
  }

  SluiceProperties {
    if (roles.isEmpty()) {
      throw new IllegalArgumentException(
          "sluice.roles is empty, must contain ingest, deliver or both");
    }
    PropertyChecks.requirePositive("sluice.shutdown-timeout", shutdownTimeout);
    if (retention != null) {
      PropertyChecks.requirePositive("sluice.retention", retention);
    }
    if (deadLetterRetention != null) {
      PropertyChecks.requirePositive("sluice.dead-letter-retention", deadLetterRetention);
    }
  }

  /** Returns the time for which ClickHouse keeps both logs and dead letters; null for no limit. */
  @Nullable Duration ledgerRetention() {
    if (retention == null || deadLetterRetention == null) {
      return retention == null ? deadLetterRetention : retention;
    }
    return retention.compareTo(deadLetterRetention) < 0 ? retention : deadLetterRetention;
  }
}
