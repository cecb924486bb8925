package dev.sluice.api.config;

import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The failover from Redis to the write-ahead log, when {@code sluice.spool} is redis-then-wal.
 *
 * @param primaryTimeout time that Redis may take to append, detected with a precision of 100ms;
 *     then the write-ahead log accepts the logs
 * @param probeInterval interval at which an unavailable Redis is checked
 */
@ConfigurationProperties("sluice.failover")
record FailoverProperties(
    @DefaultValue("500ms") Duration primaryTimeout, @DefaultValue("1s") Duration probeInterval) {

  FailoverProperties {
    PropertyChecks.requirePositive("sluice.failover.primary-timeout", primaryTimeout);
    PropertyChecks.requirePositive("sluice.failover.probe-interval", probeInterval);
  }
}
