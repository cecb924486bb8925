package dev.sluice.api.config;

import dev.sluice.core.failover.FailoverSpool;
import dev.sluice.core.port.SpoolConsumer.DeliveryLimits;
import dev.sluice.wal.WalSpool;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;
import java.util.TreeSet;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.BeanFactoryPostProcessor;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.ClassPathScanningCandidateComponentProvider;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;
import org.springframework.core.type.classreading.MetadataReader;

/** The wiring that all spools share, and that of the operation of the write-ahead log. */
@Configuration(proxyBeanMethods = false)
class SpoolConfiguration {
  private static final Logger LOG = LoggerFactory.getLogger(SpoolConfiguration.class);
  private static final String SPOOL = "sluice.spool";

  /** Fails the start when {@code sluice.spool} selects no configuration. */
  @Bean
  static BeanFactoryPostProcessor spoolSelectionCheck(Environment environment) {
    return beans -> {
      if (beans.getBeanNamesForType(SpoolDelivery.class, true, false).length == 0) {
        throw new InvalidConfigurationPropertyValueException(
            SPOOL, environment.getProperty(SPOOL), "It must be one of " + spoolNames());
      }
    };
  }

  /** Returns the values of {@code sluice.spool} that the configuration classes are for. */
  private static String spoolNames() {
    var names = new TreeSet<String>();
    var scanner =
        new ClassPathScanningCandidateComponentProvider(false) {
          @Override
          protected boolean isCandidateComponent(MetadataReader metadataReader) {
            var condition =
                metadataReader
                    .getAnnotationMetadata()
                    .getAnnotations()
                    .get(ConditionalOnProperty.class);
            if (condition.isPresent()
                && List.of(condition.getStringArray("name")).contains(SPOOL)) {
              names.add(condition.getString("havingValue"));
            }
            return false;
          }
        };
    scanner.findCandidateComponents(SpoolConfiguration.class.getPackageName());
    return String.join(", ", names);
  }

  @Bean
  SpoolSettings spoolSettings(
      SluiceProperties sluice,
      IngestProperties ingest,
      DeliveryProperties delivery,
      Environment environment) {
    return new SpoolSettings(
        instance(sluice, environment),
        ingest,
        new DeliveryLimits(
            delivery.maxRecords(), delivery.maxBytes().toBytes(), delivery.linger()));
  }

  /**
   * Returns a name that is stable across restarts, so that deliveries in flight resume immediately.
   */
  private static String instance(SluiceProperties sluice, Environment environment) {
    var configured = sluice.instance();
    if (configured != null) {
      return configured;
    }
    try {
      return InetAddress.getLocalHost().getHostName()
          + "-"
          + environment.getProperty("server.port", "8080");
    } catch (UnknownHostException _) {
      return "localhost-" + environment.getProperty("server.port", "8080");
    }
  }

  /** Warns of logs that no process may deliver, because this process has another name now. */
  @Bean
  SmartInitializingSingleton orphanedNodeCheck(
      SpoolSettings settings, ObjectProvider<WalSpool> walSpool, WalProperties wal) {
    var ownNode = walSpool.getIfAvailable() == null ? null : wal.nodeOrElse(settings.instance());
    return () -> {
      try {
        WalSpool.orphanedRecords(wal.dir(), ownNode)
            .forEach(
                (node, records) ->
                    LOG.warn(
                        "WAL node {} in {} has {} undelivered logs: unless another process runs it,"
                            + " start one with sluice.wal.node={}",
                        node,
                        wal.dir(),
                        records,
                        node));
      } catch (IOException e) {
        LOG.warn("orphaned WAL nodes in {} not checked: {}", wal.dir(), e.toString());
      }
    };
  }

  @Bean
  WalEndpoint walEndpoint(ObjectProvider<WalSpool> wal, ObjectProvider<FailoverSpool> failover) {
    return new WalEndpoint(wal.getIfAvailable(), failover.getIfAvailable());
  }

  /** Gauges of the write-ahead log; NaN when there is none. */
  @Bean
  MeterBinder walGauges(
      ObjectProvider<WalSpool> walSpool, ObjectProvider<FailoverSpool> failoverSpool) {
    var wal = walSpool.getIfAvailable();
    var failover = failoverSpool.getIfAvailable();
    return registry -> {
      gauge("segments", wal, status -> status.segments().size())
          .description("Segments of the write-ahead log")
          .register(registry);
      gauge("size", wal, SpoolConfiguration::totalBytes)
          .description("Size of the segments of the write-ahead log on the disk")
          .baseUnit("bytes")
          .register(registry);
      gauge("backlog.records", wal, WalSpool.WalStatus::pendingRecords)
          .description("Undelivered log records in the write-ahead log")
          .register(registry);
      gauge("quarantined", wal, status -> status.quarantined().size())
          .description("Damaged frames in quarantine")
          .register(registry);
      gauge("oldest.age", wal, status -> status.backlog().oldestAge().toMillis() / 1e3)
          .description("Age of the oldest undelivered entry of the write-ahead log")
          .baseUnit("seconds")
          .register(registry);
      gauge("unavailable", wal, status -> status.unavailableReason() == null ? 0 : 1)
          .description("1 while the write-ahead log rejects appends, else 0")
          .register(registry);
      Gauge.builder("sluice.failover.active", () -> failoverActive(failover))
          .description("1 while the write-ahead log replaces Redis as the spool, else 0")
          .register(registry);
    };
  }

  private static Gauge.Builder<Supplier<Number>> gauge(
      String name, @Nullable WalSpool wal, ToDoubleFunction<WalSpool.WalStatus> value) {
    return Gauge.builder(
        "sluice.wal." + name,
        () -> wal == null ? Double.NaN : value.applyAsDouble(wal.walStatus()));
  }

  private static double failoverActive(@Nullable FailoverSpool failover) {
    return failover == null ? Double.NaN : failover.failoverStatus().primaryAvailable() ? 0 : 1;
  }

  private static long totalBytes(WalSpool.WalStatus status) {
    return status.segments().stream().mapToLong(WalSpool.SegmentStatus::bytes).sum();
  }
}
