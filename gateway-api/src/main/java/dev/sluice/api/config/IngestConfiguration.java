package dev.sluice.api.config;

import dev.sluice.api.config.RoleCondition.IngestRole;
import dev.sluice.api.ops.MicrometerMetrics;
import dev.sluice.api.ops.SpoolHealth;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.failover.FailoverSpool;
import dev.sluice.core.ingest.AdmissionController;
import dev.sluice.core.ingest.BodyAllowlist;
import dev.sluice.core.ingest.ConsoleMirror;
import dev.sluice.core.ingest.DeadLetterLookup;
import dev.sluice.core.ingest.IngestService;
import dev.sluice.core.ingest.IngestService.RecordPolicy;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.port.DeadLetterStore;
import dev.sluice.core.port.DeliveryStatusReader;
import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.Redactor;
import dev.sluice.core.port.Scheduler;
import dev.sluice.core.port.Spool;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.time.InstantSource;
import java.util.concurrent.CompletableFuture;
import java.util.random.RandomGenerator;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;

/** The wiring of ingest, from the admission of a request to the spool. */
@Configuration(proxyBeanMethods = false)
class IngestConfiguration {
  /** Memory of the requests that wait for the console; above it the mirror drops requests. */
  private static final long MIRROR_BUFFER_BYTES = 8 << 20;

  @Bean
  MemoryBudget memoryBudget(IngestProperties properties) {
    return new MemoryBudget(properties.maxInFlightBytes().toBytes());
  }

  @Bean
  @Conditional(IngestRole.class)
  AdmissionController admissionController(
      Spool spool,
      MemoryBudget budget,
      IngestProperties properties,
      InstantSource clock,
      Scheduler scheduler) {
    return new AdmissionController(
        spool,
        budget,
        properties.maxBacklogRecords(),
        clock,
        scheduler,
        RandomGenerator.getDefault());
  }

  @Bean(initMethod = "start", destroyMethod = "close")
  @Conditional(IngestRole.class)
  ConsoleMirror consoleMirror(SluiceProperties sluice, Limits limits) {
    return sluice.consoleMirror()
        ? new ConsoleMirror(System.out, limits, MIRROR_BUFFER_BYTES)
        : ConsoleMirror.OFF;
  }

  @Bean
  @Conditional(IngestRole.class)
  MeterBinder consoleMirrorMetrics(ConsoleMirror mirror) {
    return registry ->
        FunctionCounter.builder("sluice.console.mirror.dropped", mirror, ConsoleMirror::dropped)
            .description(
                "Log records that the console mirror dropped: its buffer was full, or the console"
                    + " failed")
            .register(registry);
  }

  @Bean
  @Conditional(IngestRole.class)
  RecordPolicy recordPolicy(
      FilterProperties filter, Redactor redactor, ConsoleMirror mirror, Scheduler scheduler) {
    var file = filter.allowlistFile();
    if (file == null) {
      return new RecordPolicy(() -> BodyAllowlist.ALLOW_ALL, redactor, mirror);
    }
    var allowlist = AllowlistFile.read(file);
    allowlist.watch(scheduler, Thread::startVirtualThread);
    return new RecordPolicy(allowlist, redactor, mirror);
  }

  @Bean
  @Conditional(IngestRole.class)
  IngestService ingestService(
      Spool spool,
      DeliveryStatusReader deliveryStatuses,
      IdempotencyStore idempotencyStore,
      DeadLetterStore deadLetterStore,
      AdmissionController admission,
      Limits limits,
      RecordPolicy policy,
      IngestProperties properties,
      InstantSource clock,
      Scheduler scheduler,
      MicrometerMetrics metrics) {
    DeadLetterLookup lookup =
        (first, last) ->
            CompletableFuture.supplyAsync(
                () -> deadLetterStore.findBetween(first, last), Thread::startVirtualThread);
    return new IngestService(
        spool,
        deliveryStatuses,
        idempotencyStore,
        lookup,
        admission,
        limits,
        policy,
        properties.batch().limits(),
        properties.storedAckTimeout(),
        clock,
        scheduler,
        metrics);
  }

  @Bean
  @Conditional(IngestRole.class)
  IngestLifecycle ingestLifecycle(
      IngestService ingest, AdmissionController admission, ShutdownDeadline deadline) {
    return new IngestLifecycle(ingest, admission, deadline);
  }

  @Bean
  @Conditional(IngestRole.class)
  SpoolHealth spoolHealthIndicator(Spool spool, ObjectProvider<FailoverSpool> failover) {
    return new SpoolHealth(spool, failover.getIfAvailable());
  }
}
