package dev.sluice.api.config;

import dev.sluice.api.config.RoleCondition.IngestRole;
import dev.sluice.core.port.Redactor;
import dev.sluice.core.port.Scheduler;
import dev.sluice.redaction.Detector;
import dev.sluice.redaction.LogRedactor;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;

/** The wiring of the redaction. */
@Configuration(proxyBeanMethods = false)
@Conditional(IngestRole.class)
class RedactionConfiguration {

  @Bean
  Redactor redactor(RedactionProperties redaction, Scheduler scheduler, MeterRegistry registry) {
    for (var detector : Detector.values()) { // a counter that begins at zero shows its first hit
      var _ = hits(registry, detector.ruleName());
    }
    var path = redaction.rulesFile();
    if (path == null) {
      return Redactor.NONE;
    }
    var file = RedactionRulesFile.read(path);
    file.watch(scheduler, Thread::startVirtualThread);
    return new LogRedactor(file, rule -> hits(registry, rule).increment());
  }

  private static Counter hits(MeterRegistry registry, String rule) {
    return Counter.builder("sluice.redacted.values")
        .description("Sensitive values that the rules of redaction have replaced")
        .tag("rule", rule)
        .register(registry);
  }
}
