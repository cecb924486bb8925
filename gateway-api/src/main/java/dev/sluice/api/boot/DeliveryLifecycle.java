package dev.sluice.api.boot;

import dev.sluice.clickhouse.ClickHouseLogStore;
import dev.sluice.core.delivery.Backoff;
import dev.sluice.core.delivery.DeliveryWorker;
import dev.sluice.core.port.DeliveryMetrics;
import dev.sluice.core.port.DeliveryMetrics.PauseReason;
import dev.sluice.core.port.LogEnricher;
import dev.sluice.core.port.SpoolConsumer;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.SmartLifecycle;

/**
 * Starts the delivery workers before the doors open and ends them after the doors are shut, so that
 * what was accepted last is delivered too, as far as the shutdown budget reaches.
 */
final class DeliveryLifecycle implements SmartLifecycle {
  private static final Logger LOG = LoggerFactory.getLogger(DeliveryLifecycle.class);

  /** Below the web servers' phases: started before them, stopped after them. */
  private static final int PHASE = 0;

  private static final Duration MIGRATION_TIMEOUT = Duration.ofSeconds(10);

  private final SpoolBackend spoolBackend;
  private final ClickHouseLogStore store;
  private final Supplier<LogEnricher> enrichers;
  private final DeliveryMetrics metrics;
  private final InstantSource clock;
  private final DeliveryProperties settings;
  private final ShutdownDeadline deadline;
  private volatile List<DeliveryWorker> workers = List.of();
  private volatile List<SpoolConsumer> consumers = List.of();

  /**
   * @param enrichers makes one for each worker
   */
  DeliveryLifecycle(
      SpoolBackend spoolBackend,
      ClickHouseLogStore store,
      Supplier<LogEnricher> enrichers,
      DeliveryMetrics metrics,
      InstantSource clock,
      DeliveryProperties settings,
      ShutdownDeadline deadline) {
    this.spoolBackend = spoolBackend;
    this.store = store;
    this.enrichers = enrichers;
    this.metrics = metrics;
    this.clock = clock;
    this.settings = settings;
    this.deadline = deadline;
  }

  List<DeliveryWorker> workers() {
    return workers;
  }

  @Override
  public void start() {
    migrate();
    var started = new ArrayList<DeliveryWorker>();
    var consumersByWorker = spoolBackend.consumers(settings.workers());
    consumers = List.copyOf(consumersByWorker.values());
    // the log's worker stores while those of Redis have nothing to, and so at a pace of its own
    int concurrentWorkers =
        consumersByWorker.size() - (consumersByWorker.containsKey(SpoolBackend.WAL_WORKER) ? 1 : 0);
    for (var entry : consumersByWorker.entrySet()) {
      var backoff =
          new Backoff(
              settings.retry().initialDelay(),
              settings.retry().maxDelay(),
              Thread::sleep,
              RandomGenerator.getDefault());
      started.add(
          DeliveryWorker.start(
              entry.getKey(),
              entry.getValue(),
              store,
              enrichers.get(),
              metrics,
              new DeliveryWorker.WorkerSettings(
                  backoff,
                  Thread::sleep,
                  clock,
                  settings.maxDeadLettersPerBatch(),
                  entry.getKey().equals(SpoolBackend.WAL_WORKER) ? 1 : concurrentWorkers)));
    }
    workers = List.copyOf(started);
  }

  /** So that the tables are there before the first log; without ClickHouse it is made up for. */
  private void migrate() {
    var migration =
        Thread.ofVirtual()
            .name("migration")
            .start(
                () -> {
                  try {
                    store.migrate();
                  } catch (InterruptedException _) {
                    Thread.currentThread().interrupt();
                  } catch (RuntimeException e) {
                    LOG.warn("the tables are made when ClickHouse can: {}", e.getMessage());
                  }
                });
    try {
      migration.join(MIGRATION_TIMEOUT); // logs are taken whatever ClickHouse does
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  /** Workers that store nothing at the moment, for this cause. */
  long pausedWorkers(PauseReason pauseReason) {
    return workers.stream()
        .filter(
            worker -> worker.pauseState().filter(t -> t.pauseReason() == pauseReason).isPresent())
        .count();
  }

  /** Spool entries that this release cannot read; they stay pending. */
  int skippedEntries() {
    return consumers.stream().mapToInt(SpoolConsumer::skippedEntries).sum();
  }

  @Override
  public void stop() {
    var stopping = workers;
    workers = List.of();
    stopping.forEach(DeliveryWorker::drain);
    boolean drained = true;
    for (var worker : stopping) {
      drained &= worker.shutdown(deadline.remaining());
      worker.close();
    }
    LOG.info(drained ? "delivery ended" : "delivery ended with the shutdown budget");
  }

  @Override
  public boolean isRunning() {
    return !workers.isEmpty();
  }

  @Override
  public int getPhase() {
    return PHASE;
  }
}
