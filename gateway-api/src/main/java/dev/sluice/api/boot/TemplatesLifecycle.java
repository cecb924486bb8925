package dev.sluice.api.boot;

import dev.sluice.api.ops.DictionaryEndpoint.SyncStatus;
import dev.sluice.core.port.Scheduler;
import dev.sluice.core.templates.TemplateRegistry;
import java.time.Duration;
import java.time.InstantSource;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.SmartLifecycle;

/**
 * Has the templates keep up with those of other gateways, also while there is nothing to deliver.
 */
final class TemplatesLifecycle implements SmartLifecycle {
  private static final Logger LOG = LoggerFactory.getLogger(TemplatesLifecycle.class);

  /** A reading that is broken off ends at once, unless its thread gets no time. */
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

  /** How the last reading went. */
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

  /** A reading that is under way is broken off: what it would have learnt is read at the start. */
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
      if (lastStatus.trouble() == null) {
        LOG.warn("what other gateways have learnt is read later: {}", e.getMessage());
      }
      lastStatus = new SyncStatus(lastStatus.at(), String.valueOf(e.getMessage()));
    }
  }

  /**
   * From a start to the next end. One reading at a time: the next is not due before it ends. What
   * the timer still has to run after the end does nothing, and knows of no later start.
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
