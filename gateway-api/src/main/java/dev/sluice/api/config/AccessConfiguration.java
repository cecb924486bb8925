package dev.sluice.api.config;

import dev.sluice.api.ops.AccessHealth;
import dev.sluice.api.ops.KeysEndpoint;
import dev.sluice.api.ops.MicrometerAccessMetrics;
import dev.sluice.api.security.AccessControl;
import dev.sluice.core.port.Scheduler;
import dev.sluice.core.security.ApiKeyAuthenticator;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.InstantSource;
import org.jspecify.annotations.Nullable;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** The wiring of access control. */
@Configuration(proxyBeanMethods = false)
class AccessConfiguration {
  /** The tenant of all requests while no credential is required. */
  private static final String TENANT = "default";

  @Bean
  ApiKeyAuthenticator apiKeyAuthenticator(InstantSource clock) {
    return new ApiKeyAuthenticator(clock);
  }

  @Bean
  ApiKeysStatus apiKeysStatus(
      AccessProperties properties, ApiKeyAuthenticator authenticator, Scheduler scheduler) {
    var path = properties.keysFile();
    if (path == null) {
      return () -> null;
    }
    var file = ApiKeysFile.read(path, authenticator);
    file.watch(scheduler, Thread::startVirtualThread);
    return file::error;
  }

  @Bean
  AccessControl accessControl(
      AccessProperties properties,
      ApiKeyAuthenticator authenticator,
      ApiKeysStatus status,
      InstantSource clock,
      MeterRegistry registry) {
    var metrics = new MicrometerAccessMetrics(registry, authenticator, status::error, clock);
    return properties.keysFile() == null
        ? AccessControl.off(TENANT)
        : AccessControl.of(authenticator, clock, metrics);
  }

  @Bean
  AccessHealth apiKeysHealthIndicator(ApiKeysStatus status) {
    return new AccessHealth(status::error);
  }

  @Bean
  KeysEndpoint keysEndpoint(ApiKeyAuthenticator authenticator, InstantSource clock) {
    return new KeysEndpoint(authenticator, clock);
  }

  /** The status of the file of API keys. */
  @FunctionalInterface
  interface ApiKeysStatus {
    /** Returns the reason why the file is not in use as it is now; null when it is. */
    @Nullable String error();
  }
}
