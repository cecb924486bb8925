package dev.sluice.api.boot;

import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * When the write-ahead log stands in for Redis, where {@code sluice.spool} is redis-then-wal.
 *
 * @param primaryTimeout how long Redis may take with an append before the write-ahead log takes it;
 *     noticed up to a tenth of a second late
 * @param probeInterval how often Redis is asked whether it is well again
 */
@ConfigurationProperties("sluice.failover")
record FailoverProperties(
    @DefaultValue("500ms") Duration primaryTimeout, @DefaultValue("1s") Duration probeInterval) {

  FailoverProperties {
    PropertyChecks.requirePositive("sluice.failover.primary-timeout", primaryTimeout);
    PropertyChecks.requirePositive("sluice.failover.probe-interval", probeInterval);
  }
}
