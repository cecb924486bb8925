package dev.sluice.api.config;

import dev.sluice.api.config.SluiceProperties.Role;
import dev.sluice.api.config.SpoolDelivery.WorkerConsumer;
import dev.sluice.core.port.SpoolConsumer;
import dev.sluice.wal.WalSpool;
import dev.sluice.wal.WalSpool.WalSpoolSettings;
import java.io.IOException;
import java.time.InstantSource;
import java.util.List;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;

/** The wiring of the write-ahead log as the only spool. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnProperty(name = "sluice.spool", havingValue = "wal")
class WalSpoolConfiguration {

  /** Fails the start without the role deliver, because no other process can deliver the logs. */
  @Bean
  static BeanFactoryPostProcessor deliverRoleCheck(Environment environment) {
    return _ -> {
      if (!RoleCondition.hasRole(environment, Role.DELIVER)) {
        throw new InvalidConfigurationPropertyValueException(
            "sluice.spool",
            "wal",
            "Only this process can deliver it: sluice.roles must contain deliver");
      }
    };
  }

  @Bean
  WalSpool walSpool(SpoolSettings settings, WalProperties wal, InstantSource clock) {
    return open(settings.wal(wal), clock);
  }

  @Bean
  SpoolDelivery spoolDelivery(WalSpool spool) {
    return new SpoolDelivery(() -> List.of(consumer(spool, spool.newConsumer(null))), spool);
  }

  /**
   * Opens the write-ahead log.
   *
   * @throws WalUnavailableException when its directory cannot be used
   */
  static WalSpool open(WalSpoolSettings settings, InstantSource clock) {
    try {
      return WalSpool.open(settings, clock);
    } catch (IOException e) {
      throw new WalUnavailableException(e);
    }
  }

  /**
   * Creates the consumer of the only worker of the write-ahead log. As a fallback it stores mostly
   * while those of the primary are idle, at a pace of its own.
   */
  static WorkerConsumer consumer(WalSpool spool, SpoolConsumer consumer) {
    return new WorkerConsumer("wal", consumer, spool::skippedEntries, 1);
  }
}
