package dev.sluice.api.config;

import dev.sluice.api.ops.DictionaryEndpoint.SyncStatus;
import dev.sluice.core.port.Scheduler;
import dev.sluice.templates.TemplateRegistry;
import java.time.Duration;
import java.time.InstantSource;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.SmartLifecycle;

/**
 * Reads the templates of other gateways from the dictionary at a fixed interval, also while there
 * is nothing to deliver.
 */
final class TemplatesLifecycle implements SmartLifecycle {
  private static final Logger LOG = LoggerFactory.getLogger(TemplatesLifecycle.class);

  /** An interrupted sync ends immediately, unless its thread gets no CPU time. */
  private static final Duration INTERRUPT_TIMEOUT = Duration.ofSeconds(1);

  private final TemplateRegistry templateRegistry;
  private final Duration interval;
  private final Scheduler scheduler;
  private final InstantSource clock;
  private volatile SyncStatus lastStatus = new SyncStatus(null, null);
  private volatile @Nullable SyncLoop loop;

  TemplatesLifecycle(
      TemplateRegistry templateRegistry,
      Duration interval,
      Scheduler scheduler,
      InstantSource clock) {
    this.templateRegistry = templateRegistry;
    this.interval = interval;
    this.scheduler = scheduler;
    this.clock = clock;
  }

  /** Returns the result of the last sync. */
  SyncStatus lastStatus() {
    return lastStatus;
  }

  @Override
  public synchronized void start() {
    if (loop == null) {
      var started = new SyncLoop();
      loop = started;
      started.scheduleNext();
    }
  }

  /** Interrupts a running sync; the next start of the process reads all templates. */
  @Override
  public synchronized void stop() {
    var stopping = loop;
    loop = null;
    if (stopping != null) {
      stopping.shutdown();
    }
  }

  @Override
  public boolean isRunning() {
    return loop != null;
  }

  private void sync() throws InterruptedException {
    try {
      templateRegistry.sync();
      lastStatus = new SyncStatus(clock.instant(), null);
    } catch (RuntimeException e) {
      if (lastStatus.error() == null) {
        LOG.warn("template sync failed, retrying every {}: {}", interval, e.getMessage());
      }
      lastStatus = new SyncStatus(lastStatus.at(), String.valueOf(e.getMessage()));
    }
  }

  /**
   * The syncs between one start and the next stop. They run one at a time: each schedules the next
   * at its end. A task that the timer runs after the stop has no effect, also after a later start.
   */
  private final class SyncLoop {
    private boolean stopped;
    private @Nullable Thread thread;

    private synchronized void scheduleNext() {
      if (!stopped) {
        scheduler.schedule(interval, this::startThread);
      }
    }

    private synchronized void startThread() {
      if (!stopped) {
        thread = Thread.ofVirtual().name("templates").start(this::runOnce);
      }
    }

    private void runOnce() {
      try {
        sync();
      } catch (InterruptedException _) {
        Thread.currentThread().interrupt();
      } finally {
        scheduleNext();
      }
    }

    void shutdown() {
      Thread stopping;
      synchronized (this) {
        stopped = true;
        stopping = thread;
      }
      if (stopping != null) {
        stopping.interrupt();
        try {
          var _ = stopping.join(INTERRUPT_TIMEOUT);
        } catch (InterruptedException _) {
          Thread.currentThread().interrupt();
        }
      }
    }
  }
}
