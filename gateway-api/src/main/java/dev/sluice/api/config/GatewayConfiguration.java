package dev.sluice.api.config;

import dev.sluice.api.config.SluiceProperties.Role;
import dev.sluice.api.grpc.InboundMemoryTracer;
import dev.sluice.api.grpc.MessageDecompressors;
import dev.sluice.api.ops.DeadLettersEndpoint;
import dev.sluice.api.ops.DeliveryHealth;
import dev.sluice.api.ops.DictionaryEndpoint;
import dev.sluice.api.ops.DictionaryGauges;
import dev.sluice.api.ops.GatewayGauges;
import dev.sluice.api.ops.LedgerEndpoint;
import dev.sluice.api.ops.LedgerGauges;
import dev.sluice.api.ops.MicrometerMetrics;
import dev.sluice.api.ops.SpoolHealth;
import dev.sluice.api.ops.StoreHealth;
import dev.sluice.clickhouse.ClickHouseDatabase;
import dev.sluice.clickhouse.ClickHouseDeadLetterStore;
import dev.sluice.clickhouse.ClickHouseDictionary;
import dev.sluice.clickhouse.ClickHouseLogReader;
import dev.sluice.clickhouse.ClickHouseLogWriter;
import dev.sluice.clickhouse.ClickHouseSettings;
import dev.sluice.clickhouse.ClickHouseTemplateStats;
import dev.sluice.core.delivery.DeadLetterReplayer;
import dev.sluice.core.domain.Limits;
import dev.sluice.core.failover.FailoverSpool;
import dev.sluice.core.ingest.AdmissionController;
import dev.sluice.core.ingest.BodyAllowlist;
import dev.sluice.core.ingest.ConsoleMirror;
import dev.sluice.core.ingest.DeadLetterLookup;
import dev.sluice.core.ingest.IngestService;
import dev.sluice.core.ingest.IngestService.RecordPolicy;
import dev.sluice.core.ingest.MemoryBudget;
import dev.sluice.core.ledger.Ledger;
import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.DailyCounts;
import dev.sluice.core.port.DeadLetterStore;
import dev.sluice.core.port.DeliveryMetrics.PauseReason;
import dev.sluice.core.port.DeliveryStatusReader;
import dev.sluice.core.port.IdempotencyStore;
import dev.sluice.core.port.LogEnricher;
import dev.sluice.core.port.Scheduler;
import dev.sluice.core.port.Spool;
import dev.sluice.query.port.TemplateStats;
import dev.sluice.query.read.ConcurrencyLimitedReader;
import dev.sluice.query.read.LongTextResolvingReader;
import dev.sluice.query.read.MergedTemplateReader;
import dev.sluice.query.read.TemplateLinkCache;
import dev.sluice.query.read.TemplateReport;
import dev.sluice.redis.RedisSpool;
import dev.sluice.templates.DictionaryEncoder;
import dev.sluice.templates.TemplateRegistry;
import dev.sluice.templates.dictionary.Dictionary;
import dev.sluice.templates.dictionary.SharedDictionaryCache;
import dev.sluice.wal.WalSpool;
import io.grpc.DecompressorRegistry;
import io.grpc.netty.NettyServerBuilder;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.time.Duration;
import java.time.InstantSource;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.condition.AnyNestedCondition;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.grpc.server.autoconfigure.GrpcServerExecutorProvider;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Conditional;
import org.springframework.context.annotation.Configuration;
import org.springframework.grpc.server.ServerBuilderCustomizer;

/** The wiring of the gateway: it binds each port of the core to an adapter. */
@Configuration(proxyBeanMethods = false)
class GatewayConfiguration {
  /** A search may show a template for up to twice this time after its generalization. */
  private static final Duration LINK_CACHE_TTL = Duration.ofSeconds(1);

  /** Time that a query waits for a free slot, so that a burst of short queries is not rejected. */
  private static final Duration QUERY_QUEUE_TIMEOUT = Duration.ofSeconds(1);

  /** Memory of the requests that wait for the console; above it the mirror drops requests. */
  private static final long MIRROR_BUFFER_BYTES = 8 << 20;

  private static final int MAX_CALLS_PER_CONNECTION = 128;
  private static final int FLOW_CONTROL_WINDOW_BYTES = 1 << 20;

  @Bean
  InstantSource clock() {
    return InstantSource.system();
  }

  @Bean
  Limits limits(LimitsProperties properties) {
    return properties.limits();
  }

  @Bean(destroyMethod = "close")
  ClickHouseDatabase clickHouseDatabase(
      EngineUrls engines, SluiceProperties sluice, ClickHouseProperties properties) {
    return new ClickHouseDatabase(
        new ClickHouseSettings(
            engines.clickHouse(),
            properties.user(),
            properties.password(),
            properties.database(),
            properties.insertTimeout(),
            properties.queryTimeout(),
            PropertyChecks.toArraySize("sluice.clickhouse.max-insert", properties.maxInsert()),
            properties.indexes(),
            sluice.retention(),
            sluice.deadLetterRetention()));
  }

  @Bean
  ClickHouseLogWriter logWriter(ClickHouseDatabase database, InstantSource clock) {
    return new ClickHouseLogWriter(database, clock);
  }

  @Bean
  ClickHouseLogReader logReader(ClickHouseDatabase database) {
    return new ClickHouseLogReader(database);
  }

  @Bean
  DeadLetterStore deadLetterStore(ClickHouseDatabase database) {
    return new ClickHouseDeadLetterStore(database);
  }

  @Bean
  TemplateStats templateStats(ClickHouseDatabase database) {
    return new ClickHouseTemplateStats(database);
  }

  @Bean
  TemplateLinkCache templateLinkCache(TemplateStats templates) {
    return new TemplateLinkCache(templates, LINK_CACHE_TTL, System::nanoTime);
  }

  @Bean
  ConcurrencyLimitedReader reader(
      ClickHouseLogReader logs,
      Dictionary dictionary,
      TemplateLinkCache links,
      ClickHouseProperties properties) {
    return new ConcurrencyLimitedReader(
        new MergedTemplateReader(new LongTextResolvingReader(logs, dictionary), links),
        properties.maxConcurrentQueries(),
        QUERY_QUEUE_TIMEOUT);
  }

  @Bean
  MicrometerMetrics micrometerMetrics(MeterRegistry registry) {
    return new MicrometerMetrics(registry);
  }

  @Bean
  MemoryBudget memoryBudget(IngestProperties properties) {
    return new MemoryBudget(properties.maxInFlightBytes().toBytes());
  }

  @Bean
  ShutdownDeadline shutdownDeadline(SluiceProperties sluice) {
    return new ShutdownDeadline(sluice.shutdownTimeout());
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
  RecordPolicy recordPolicy(FilterProperties filter, ConsoleMirror mirror, Scheduler scheduler) {
    var file = filter.allowlistFile();
    if (file == null) {
      return new RecordPolicy(() -> BodyAllowlist.ALLOW_ALL, mirror);
    }
    var allowlist = AllowlistFile.read(file);
    allowlist.watch(scheduler, Thread::startVirtualThread);
    return new RecordPolicy(allowlist, mirror);
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
  TemplateReport templateReport(
      TemplateStats templates,
      Dictionary dictionary,
      TemplateLinkCache links,
      ConcurrencyLimitedReader reader) {
    return new TemplateReport(templates, dictionary, links, reader);
  }

  /**
   * The limits of a gRPC connection. Bytes in the flow-control windows of its calls are outside the
   * memory budget; a fixed window size and a maximum number of calls bound them.
   */
  @Bean
  ServerBuilderCustomizer<NettyServerBuilder> grpcServerLimits(
      MemoryBudget budget, IngestProperties properties, Scheduler scheduler) {
    return server ->
        server
            .addStreamTracerFactory(
                new InboundMemoryTracer(
                    budget, properties.requestBodyTimeout(), System::nanoTime, scheduler))
            .maxConcurrentCallsPerConnection(MAX_CALLS_PER_CONNECTION)
            .flowControlWindow(FLOW_CONTROL_WINDOW_BYTES);
  }

  /** Calls run on the event loop: to validate a message costs less than a thread switch. */
  @Bean
  GrpcServerExecutorProvider grpcExecutor() {
    return () -> Runnable::run;
  }

  @Bean
  DecompressorRegistry grpcDecompressors() {
    return MessageDecompressors.registry();
  }

  @Bean
  Dictionary dictionary(ClickHouseDatabase database) {
    return new ClickHouseDictionary(database);
  }

  @Bean
  @Conditional(Delivering.class)
  SharedDictionaryCache sharedDictionaryCache(
      DictionaryProperties properties, Dictionary dictionary) {
    return new SharedDictionaryCache(properties.cacheSettings(), dictionary);
  }

  @Bean
  @Conditional(Delivering.class)
  TemplateRegistry templateRegistry(
      TemplatesProperties properties, Dictionary dictionary, Scheduler scheduler) {
    var templateRegistry = new TemplateRegistry(properties.minerSettings(), dictionary);
    var file = properties.customMasksFile();
    if (file != null) {
      CustomMasksFile.read(file, templateRegistry::setCustomMasks)
          .watch(scheduler, Thread::startVirtualThread);
    }
    return templateRegistry;
  }

  @Bean
  @Conditional(Delivering.class)
  TemplatesLifecycle templatesLifecycle(
      TemplateRegistry templateRegistry,
      TemplatesProperties properties,
      Scheduler scheduler,
      InstantSource clock) {
    return new TemplatesLifecycle(templateRegistry, properties.syncInterval(), scheduler, clock);
  }

  @Bean
  @Conditional(Delivering.class)
  DictionaryEndpoint.Dependencies dictionaryDependencies(
      SharedDictionaryCache texts,
      TemplateRegistry templateRegistry,
      TemplatesProperties properties,
      TemplatesLifecycle lifecycle) {
    return new DictionaryEndpoint.Dependencies(
        texts, templateRegistry, properties.enabled(), lifecycle::lastStatus);
  }

  @Bean
  DictionaryEndpoint dictionaryEndpoint(
      ObjectProvider<DictionaryEndpoint.Dependencies> dependencies) {
    return new DictionaryEndpoint(dependencies.getIfAvailable());
  }

  @Bean
  @Conditional(Delivering.class)
  DictionaryGauges dictionaryGauges(
      SharedDictionaryCache texts, TemplateRegistry templateRegistry) {
    return new DictionaryGauges(texts, templateRegistry);
  }

  @Bean
  @Conditional(Delivering.class)
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

  @Bean
  ShutdownSummaryLogger shutdownSummaryLogger(
      Backlog backlog, DailyCounts dailyCounts, ObjectProvider<FailoverSpool> failover) {
    return new ShutdownSummaryLogger(backlog, dailyCounts, failover.getIfAvailable());
  }

  @Bean
  GatewayGauges gauges(Backlog backlog, Spool spool, MemoryBudget budget) {
    return new GatewayGauges(backlog, spool, budget);
  }

  @Bean
  @Conditional(Delivering.class)
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
  @Conditional(Delivering.class)
  MeterBinder skippedEntriesGauge(DeliveryLifecycle delivery) {
    return registry ->
        Gauge.builder("sluice.spool.skipped.entries", delivery, DeliveryLifecycle::skippedEntries)
            .description("Spool entries that this release cannot decode; they stay pending")
            .register(registry);
  }

  @Bean
  @Conditional(IngestRole.class)
  SpoolHealth spoolHealthIndicator(Spool spool, ObjectProvider<FailoverSpool> failover) {
    return new SpoolHealth(spool, failover.getIfAvailable());
  }

  @Bean
  @Conditional(Delivering.class)
  DeliveryHealth deliveryHealthIndicator(DeliveryLifecycle delivery, SpoolDelivery spool) {
    return new DeliveryHealth(delivery::workers, spool.deliverableBacklog());
  }

  @Bean
  StoreHealth clickhouseHealthIndicator(ClickHouseDatabase database) {
    return new StoreHealth(database::unavailableReason);
  }

  static final class IngestRole extends RoleCondition {
    IngestRole() {
      super(Role.INGEST);
    }
  }

  static final class DeliverRole extends RoleCondition {
    DeliverRole() {
      super(Role.DELIVER);
    }
  }

  /** The role deliver, or a write-ahead log as fallback, which no other process can deliver. */
  static final class Delivering extends AnyNestedCondition {
    Delivering() {
      super(ConfigurationPhase.REGISTER_BEAN);
    }

    @Conditional(DeliverRole.class)
    static final class ByRole {}

    @ConditionalOnProperty(
        name = "sluice.spool",
        havingValue = "redis-then-wal",
        matchIfMissing = true)
    static final class ByFallback {}
  }
}
