package dev.sluice.api.boot;

import dev.sluice.api.ops.DictionaryEndpoint.Reading;
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
  private static final Duration BREAKING_OFF = Duration.ofSeconds(1);

  private final TemplateRegistry templateRegistry;
  private final Duration interval;
  private final Scheduler scheduler;
  private final InstantSource clock;
  private volatile Reading last = new Reading(null, null);
  private volatile @Nullable Turns turns;

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
  Reading last() {
    return last;
  }

  @Override
  public synchronized void start() {
    if (turns == null) {
      var begun = new Turns();
      turns = begun;
      begun.next();
    }
  }

  /** A reading that is under way is broken off: what it would have learnt is read at the start. */
  @Override
  public synchronized void stop() {
    var ending = turns;
    turns = null;
    if (ending != null) {
      ending.end();
    }
  }

  @Override
  public boolean isRunning() {
    return turns != null;
  }

  private void read() throws InterruptedException {
    try {
      templateRegistry.sync();
      last = new Reading(clock.instant(), null);
    } catch (RuntimeException e) {
      if (last.trouble() == null) {
        LOG.warn("what other gateways have learnt is read later: {}", e.getMessage());
      }
      last = new Reading(last.at(), String.valueOf(e.getMessage()));
    }
  }

  /**
   * From a start to the next end. One reading at a time: the next is not due before it ends. What
   * the timer still has to run after the end does nothing, and knows of no later start.
   */
  private final class Turns {
    private boolean ended;
    private @Nullable Thread reader;

    private synchronized void next() {
      if (!ended) {
        scheduler.schedule(interval, this::begin);
      }
    }

    private synchronized void begin() {
      if (!ended) {
        reader = Thread.ofVirtual().name("templates").start(this::turn);
      }
    }

    private void turn() {
      try {
        read();
      } catch (InterruptedException _) {
        Thread.currentThread().interrupt();
      } finally {
        next();
      }
    }

    void end() {
      Thread ending;
      synchronized (this) {
        ended = true;
        ending = reader;
      }
      if (ending != null) {
        ending.interrupt();
        try {
          var _ = ending.join(BREAKING_OFF);
        } catch (InterruptedException _) {
          Thread.currentThread().interrupt();
        }
      }
    }
  }
}
