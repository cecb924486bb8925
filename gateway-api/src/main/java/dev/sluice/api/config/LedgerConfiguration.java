package dev.sluice.api.config;

import dev.sluice.api.ops.LedgerEndpoint;
import dev.sluice.api.ops.LedgerGauges;
import dev.sluice.clickhouse.ClickHouseLogWriter;
import dev.sluice.core.ledger.Ledger;
import dev.sluice.core.port.DailyCounts;
import dev.sluice.core.port.DeadLetterStore;
import dev.sluice.core.port.Scheduler;
import java.time.InstantSource;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** The wiring of the ledger. */
@Configuration(proxyBeanMethods = false)
class LedgerConfiguration {
  @Bean
  Ledger ledger(
      DailyCounts dailyCounts,
      ClickHouseLogWriter store,
      DeadLetterStore deadLetterStore,
      InstantSource clock,
      LedgerProperties properties,
      SluiceProperties sluice) {
    return new Ledger(
        dailyCounts, store, deadLetterStore, clock, properties.window(), sluice.ledgerRetention());
  }

  @Bean
  LedgerEndpoint ledgerEndpoint(Ledger ledger) {
    return new LedgerEndpoint(ledger);
  }

  @Bean(destroyMethod = "close")
  LedgerGauges ledgerGauges(
      Ledger ledger,
      DeadLetterStore deadLetterStore,
      Scheduler scheduler,
      LedgerProperties properties) {
    return new LedgerGauges(ledger, deadLetterStore, scheduler, properties.interval());
  }
}
