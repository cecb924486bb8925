package dev.sluice.api.config;

import dev.sluice.api.http.RequestGuard;
import dev.sluice.core.port.Scheduler;
import java.util.ArrayList;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;

/**
 * The wiring of what protects the ports from other machines and from web pages. {@link BindCheck}
 * runs before any bean.
 */
@Configuration(proxyBeanMethods = false)
class BindConfiguration {
  @Bean(initMethod = "start")
  InsecureBindReminder bindHealthIndicator(Environment settings, Scheduler scheduler) {
    return new InsecureBindReminder(BindAddresses.of(settings), scheduler);
  }

  @Bean
  RequestGuard requestGuard(SluiceProperties sluice, ExposureProperties properties) {
    var hosts = new ArrayList<>(properties.allowedHosts());
    hosts.add(sluice.bind());
    return new RequestGuard(hosts);
  }
}
