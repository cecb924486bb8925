package dev.sluice.api.config;

import dev.sluice.api.ops.GatewayGauges;
import dev.sluice.api.ops.MicrometerMetrics;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.failover.FailoverSpool;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.DailyCounts;
import dev.sluice.core.port.Spool;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.InstantSource;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** The wiring that all parts of the gateway share. */
@Configuration(proxyBeanMethods = false)
class GatewayConfiguration {
  @Bean
  InstantSource clock() {
    return InstantSource.system();
  }

  @Bean
  Limits limits(LimitsProperties properties) {
    return properties.limits();
  }

  @Bean
  ShutdownDeadline shutdownDeadline(SluiceProperties sluice) {
    return new ShutdownDeadline(sluice.shutdownTimeout());
  }

  @Bean
  ShutdownSummaryLogger shutdownSummaryLogger(
      Backlog backlog, DailyCounts dailyCounts, ObjectProvider<FailoverSpool> failover) {
    return new ShutdownSummaryLogger(backlog, dailyCounts, failover.getIfAvailable());
  }

  @Bean
  MicrometerMetrics micrometerMetrics(MeterRegistry registry) {
    return new MicrometerMetrics(registry);
  }

  @Bean
  GatewayGauges gauges(Backlog backlog, Spool spool, MemoryBudget budget) {
    return new GatewayGauges(backlog, spool, budget);
  }
}
