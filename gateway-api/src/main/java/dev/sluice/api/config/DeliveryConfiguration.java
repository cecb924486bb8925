package dev.sluice.api.config;

import dev.sluice.api.config.RoleCondition.DeliveryCondition;
import dev.sluice.api.ops.DeliveryHealth;
import dev.sluice.api.ops.MicrometerMetrics;
import dev.sluice.clickhouse.ClickHouseDatabase;
import dev.sluice.clickhouse.ClickHouseLogWriter;
import dev.sluice.core.port.DeadLetterStore;
import dev.sluice.core.port.DeliveryMetrics.PauseReason;
import dev.sluice.core.port.LogEnricher;
import dev.sluice.templates.DictionaryEncoder;
import dev.sluice.templates.TemplateRegistry;
import dev.sluice.templates.dictionary.SharedDictionaryCache;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.time.InstantSource;
import java.util.function.Supplier;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;

/** The wiring of delivery, from the spool to the store. */
@Configuration(proxyBeanMethods = false)
class DeliveryConfiguration {
  @Bean
  @Conditional(DeliveryCondition.class)
  DeliveryLifecycle deliveryLifecycle(
      SpoolDelivery spool,
      ClickHouseDatabase database,
      ClickHouseLogWriter store,
      DeadLetterStore deadLetterStore,
      SharedDictionaryCache texts,
      TemplateRegistry templateRegistry,
      TemplatesProperties properties,
      DictionaryProperties dictionary,
      MicrometerMetrics metrics,
      ShutdownDeadline deadline,
      DeliveryProperties delivery,
      InstantSource clock) {
    var encoderSettings = dictionary.encoderSettings();
    Supplier<LogEnricher> enrichers =
        () -> {
          var lookup = texts.newWorkerCache();
          return new DictionaryEncoder(
              properties.enabled() ? templateRegistry.newResolver(lookup) : null,
              lookup,
              encoderSettings);
        };
    return new DeliveryLifecycle(
        spool, database, store, deadLetterStore, enrichers, metrics, clock, delivery, deadline);
  }

  @Bean
  @Conditional(DeliveryCondition.class)
  MeterBinder deliveryPausedGauges(DeliveryLifecycle delivery) {
    return registry -> {
      for (var pauseReason : PauseReason.values()) {
        Gauge.builder(
                "sluice.delivery.paused", delivery, d -> d.pausedWorkers(pauseReason) > 0 ? 1 : 0)
            .description("1 while delivery is paused for this reason, else 0")
            .tag("reason", MicrometerMetrics.label(pauseReason))
            .register(registry);
      }
    };
  }

  @Bean
  @Conditional(DeliveryCondition.class)
  MeterBinder skippedEntriesGauge(DeliveryLifecycle delivery) {
    return registry ->
        Gauge.builder("sluice.spool.skipped.entries", delivery, DeliveryLifecycle::skippedEntries)
            .description("Spool entries that this release cannot decode; they stay pending")
            .register(registry);
  }

  @Bean
  @Conditional(DeliveryCondition.class)
  DeliveryHealth deliveryHealthIndicator(DeliveryLifecycle delivery, SpoolDelivery spool) {
    return new DeliveryHealth(delivery::workers, spool.deliverableBacklog());
  }
}
