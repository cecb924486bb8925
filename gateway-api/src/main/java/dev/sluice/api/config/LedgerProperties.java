package dev.sluice.api.config;

import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The ledger, which balances accepted logs against stored logs.
 *
 * @param window receive days that the ledger covers, including today, at least 1d; fewer when
 *     {@code sluice.retention} or {@code sluice.dead-letter-retention} deletes rows earlier
 * @param interval interval at which the gateway counts the ledger for the metrics; it grows so that
 *     counting takes at most a hundredth of the time, up to ten minutes
 */
@ConfigurationProperties("sluice.ledger")
record LedgerProperties(
    @DefaultValue("7d") Duration window, @DefaultValue("30s") Duration interval) {

  LedgerProperties {
    PropertyChecks.requirePositive("sluice.ledger.interval", interval);
    if (window.toDays() < 1) {
      throw new IllegalArgumentException(
          "sluice.ledger.window is " + window + ", must be at least 1d");
    }
  }
}
