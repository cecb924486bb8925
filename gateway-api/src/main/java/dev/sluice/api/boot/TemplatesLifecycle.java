package dev.sluice.api.boot;

import dev.sluice.core.port.Timer;
import dev.sluice.core.templates.Templates;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.SmartLifecycle;

/**
 * Has the templates keep up with those of other gateways, also while there is nothing to deliver.
 */
final class TemplatesLifecycle implements SmartLifecycle {
  private static final Logger LOG = LoggerFactory.getLogger(TemplatesLifecycle.class);

  private final Templates templates;
  private final Duration interval;
  private final Timer timer;
  private volatile boolean running;
  private boolean failing;

  TemplatesLifecycle(Templates templates, Duration interval, Timer timer) {
    this.templates = templates;
    this.interval = interval;
    this.timer = timer;
  }

  @Override
  public void start() {
    running = true;
    next();
  }

  private void next() {
    if (running) {
      timer.after(interval, () -> Thread.ofVirtual().name("templates").start(this::keepUp));
    }
  }

  /** One at a time: the next is not due before it ends. */
  private void keepUp() {
    try {
      if (running) {
        templates.keepUp();
        failing = false;
      }
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    } catch (RuntimeException e) {
      if (!failing) {
        LOG.warn("what other gateways have learnt is read later: {}", e.getMessage());
      }
      failing = true;
    } finally {
      next();
    }
  }

  @Override
  public void stop() {
    running = false;
  }

  @Override
  public boolean isRunning() {
    return running;
  }
}
