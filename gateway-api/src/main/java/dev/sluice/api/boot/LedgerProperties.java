package dev.sluice.api.boot;

import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * The account of what became of every log.
 *
 * @param window how many days of receipt it goes back, today included; fewer when logs are not kept
 *     that long
 * @param interval how often it is counted for the metrics; less often where a count of many logs
 *     takes more than a hundredth of that, every ten minutes at least
 */
@ConfigurationProperties("sluice.ledger")
record LedgerProperties(
    @DefaultValue("7d") Duration window, @DefaultValue("30s") Duration interval) {

  LedgerProperties {
    PropertyChecks.requirePositive("sluice.ledger.interval", interval);
    if (window.toDays() < 1) {
      throw new IllegalArgumentException(
          "sluice.ledger.window must be a day or more, is " + window);
    }
  }
}
