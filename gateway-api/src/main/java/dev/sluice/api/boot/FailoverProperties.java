package dev.sluice.api.boot;

import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * When the write-ahead log stands in for Redis, where {@code sluice.spool} is redis-then-wal.
 *
 * @param patience how long Redis may take with an append before the write-ahead log takes it;
 *     noticed up to a tenth of a second late
 * @param probe how often Redis is asked whether it is well again
 */
@ConfigurationProperties("sluice.failover")
record FailoverProperties(
    @DefaultValue("500ms") Duration patience, @DefaultValue("1s") Duration probe) {

  FailoverProperties {
    Setting.requirePositive("sluice.failover.patience", patience);
    Setting.requirePositive("sluice.failover.probe", probe);
  }
}
