package dev.sluice.api.config;

import dev.sluice.core.port.Scheduler;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;

/** The wiring of the health contributor {@code bind}. {@link BindCheck} runs before any bean. */
@Configuration(proxyBeanMethods = false)
class BindConfiguration {
  @Bean(initMethod = "start")
  InsecureBindReminder bindHealthIndicator(Environment settings, Scheduler scheduler) {
    return new InsecureBindReminder(BindAddresses.of(settings), scheduler);
  }
}
