package dev.sluice.api.config;

import dev.sluice.api.ops.DeadLettersEndpoint;
import dev.sluice.core.delivery.DeadLetterReplayer;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.port.DeadLetterStore;
import dev.sluice.core.port.Scheduler;
import dev.sluice.core.port.Spool;
import dev.sluice.redis.RedisSpool;
import dev.sluice.wal.WalSpool;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** The wiring of the operation of dead letters. */
@Configuration(proxyBeanMethods = false)
class DeadLettersConfiguration {
  @Bean
  DeadLettersEndpoint deadLettersEndpoint(
      Spool spool, DeadLetterStore deadLetterStore, Limits limits) {
    return new DeadLettersEndpoint(
        deadLetterStore, new DeadLetterReplayer(spool, deadLetterStore), limits);
  }

  @Bean
  DeadLetterMigration deadLetterMigration(
      ObjectProvider<WalSpool> wal,
      ObjectProvider<RedisSpool> redis,
      DeadLetterStore deadLetterStore,
      Scheduler scheduler) {
    return new DeadLetterMigration(
        writer -> {
          wal.ifAvailable(spool -> spool.moveDeadLetters(writer));
          redis.ifAvailable(spool -> spool.moveDeadLetters(writer));
        },
        deadLetterStore,
        scheduler);
  }
}
