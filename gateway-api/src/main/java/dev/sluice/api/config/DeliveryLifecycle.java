package dev.sluice.api.config;

import dev.sluice.api.config.SpoolDelivery.WorkerConsumer;
import dev.sluice.clickhouse.ClickHouseDatabase;
import dev.sluice.core.delivery.Backoff;
import dev.sluice.core.delivery.DeliveryWorker;
import dev.sluice.core.port.Backlog;
import dev.sluice.core.port.DeadLetterStore;
import dev.sluice.core.port.DeliveryMetrics;
import dev.sluice.core.port.DeliveryMetrics.PauseReason;
import dev.sluice.core.port.LogEnricher;
import dev.sluice.core.port.LogStore;
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
 * Starts the delivery workers before the servers accept requests, and stops them after the servers,
 * so that the last accepted logs are delivered as well, until the shutdown deadline.
 */
final class DeliveryLifecycle implements SmartLifecycle {
  private static final Logger LOG = LoggerFactory.getLogger(DeliveryLifecycle.class);

  /** Below the phases of the web servers: starts before them, stops after them. */
  private static final int PHASE = 0;

  private static final Duration MIGRATION_TIMEOUT = Duration.ofSeconds(10);

  private final SpoolDelivery spool;
  private final ClickHouseDatabase database;
  private final LogStore store;
  private final DeadLetterStore deadLetterStore;
  private final Supplier<LogEnricher> enrichers;
  private final DeliveryMetrics metrics;
  private final InstantSource clock;
  private final DeliveryProperties settings;
  private final ShutdownDeadline deadline;
  private volatile List<DeliveryWorker> workers = List.of();
  private volatile List<WorkerConsumer> consumers = List.of();

  /**
   * @param enrichers the factory of the enricher of each worker
   */
  DeliveryLifecycle(
      SpoolDelivery spool,
      ClickHouseDatabase database,
      LogStore store,
      DeadLetterStore deadLetterStore,
      Supplier<LogEnricher> enrichers,
      DeliveryMetrics metrics,
      InstantSource clock,
      DeliveryProperties settings,
      ShutdownDeadline deadline) {
    this.spool = spool;
    this.database = database;
    this.store = store;
    this.deadLetterStore = deadLetterStore;
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
    consumers = spool.consumers().get();
    for (var worker : consumers) {
      var backoff =
          new Backoff(
              settings.retry().initialDelay(),
              settings.retry().maxDelay(),
              Thread::sleep,
              RandomGenerator.getDefault());
      started.add(
          DeliveryWorker.start(
              worker.worker(),
              worker.consumer(),
              store,
              deadLetterStore,
              enrichers.get(),
              metrics,
              new DeliveryWorker.WorkerSettings(
                  backoff,
                  Thread::sleep,
                  clock,
                  settings.maxDeadLettersPerBatch(),
                  worker.concurrentWorkers())));
    }
    workers = List.copyOf(started);
  }

  /**
   * Creates or upgrades the tables before the first log, for a limited time. Without ClickHouse the
   * store does it before the first insert.
   */
  private void migrate() {
    var migration =
        Thread.ofVirtual()
            .name("migration")
            .start(
                () -> {
                  try {
                    database.migrate();
                  } catch (InterruptedException _) {
                    Thread.currentThread().interrupt();
                  } catch (RuntimeException e) {
                    LOG.warn(
                        "schema migration failed, retrying before the first insert: {}",
                        e.getMessage());
                  }
                });
    try {
      migration.join(MIGRATION_TIMEOUT); // ingest does not depend on ClickHouse
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  /** Returns the number of workers that are paused for this reason. */
  long pausedWorkers(PauseReason pauseReason) {
    return workers.stream()
        .filter(
            worker -> worker.pauseState().filter(t -> t.pauseReason() == pauseReason).isPresent())
        .count();
  }

  /** Returns the number of spool entries that this release cannot decode; they stay pending. */
  int skippedEntries() {
    return consumers.stream().mapToInt(worker -> worker.skippedEntries().getAsInt()).sum();
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
    LOG.info(describeStop(drained, spool.deliverableBacklog()));
  }

  /**
   * Returns the log line of the end of delivery.
   *
   * @param drained whether each worker has delivered all that its consumer returned, which leaves
   *     out what a consumer holds back, such as possible duplicates
   */
  static String describeStop(boolean drained, Backlog backlog) {
    if (!drained) {
      return "delivery stopped at the shutdown timeout: undelivered logs remain in the spool";
    }
    try {
      long entries = backlog.depth().entries();
      return entries == 0
          ? "delivery stopped: backlog delivered"
          : ("delivery stopped: %d entries remain in the spool: possible duplicates, skipped entries"
                  + " or entries of other gateways")
              .formatted(entries);
    } catch (RuntimeException e) {
      return "delivery stopped: the backlog of the spool is unknown: " + e.getMessage();
    }
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
