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

  private static final Duration MIGRATION = Duration.ofSeconds(10);

  private final Spools spools;
  private final ClickHouseLogStore store;
  private final Supplier<LogEnricher> namings;
  private final DeliveryMetrics meter;
  private final InstantSource clock;
  private final DeliveryProperties settings;
  private final ShutdownBudget budget;
  private volatile List<DeliveryWorker> workers = List.of();
  private volatile List<SpoolConsumer> deliveries = List.of();

  /**
   * @param namings makes one for each worker
   */
  DeliveryLifecycle(
      Spools spools,
      ClickHouseLogStore store,
      Supplier<LogEnricher> namings,
      DeliveryMetrics meter,
      InstantSource clock,
      DeliveryProperties settings,
      ShutdownBudget budget) {
    this.spools = spools;
    this.store = store;
    this.namings = namings;
    this.meter = meter;
    this.clock = clock;
    this.settings = settings;
    this.budget = budget;
  }

  List<DeliveryWorker> workers() {
    return workers;
  }

  @Override
  public void start() {
    migrate();
    var started = new ArrayList<DeliveryWorker>();
    var sources = spools.deliveries(settings.workers());
    deliveries = List.copyOf(sources.values());
    // the log's worker stores while those of Redis have nothing to, and so at a pace of its own
    int together = sources.size() - (sources.containsKey(Spools.WAL) ? 1 : 0);
    for (var source : sources.entrySet()) {
      var backoff =
          new Backoff(
              settings.firstPause(),
              settings.longestPause(),
              Thread::sleep,
              RandomGenerator.getDefault());
      started.add(
          DeliveryWorker.start(
              source.getKey(),
              source.getValue(),
              store,
              namings.get(),
              meter,
              new DeliveryWorker.WorkerSettings(
                  backoff,
                  Thread::sleep,
                  clock,
                  settings.maxRefused(),
                  source.getKey().equals(Spools.WAL) ? 1 : together)));
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
      migration.join(MIGRATION); // logs are taken whatever ClickHouse does
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  /** Workers that store nothing at the moment, for this cause. */
  long paused(PauseReason pauseReason) {
    return workers.stream()
        .filter(
            worker -> worker.pauseState().filter(t -> t.pauseReason() == pauseReason).isPresent())
        .count();
  }

  /** Spool entries that this release cannot read; they stay pending. */
  int unreadable() {
    return deliveries.stream().mapToInt(SpoolConsumer::skippedEntries).sum();
  }

  @Override
  public void stop() {
    var ending = workers;
    workers = List.of();
    ending.forEach(DeliveryWorker::drain);
    boolean all = true;
    for (var worker : ending) {
      all &= worker.shutdown(budget.remaining());
      worker.close();
    }
    LOG.info(all ? "delivery ended" : "delivery ended with the shutdown budget");
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
