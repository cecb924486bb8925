package dev.sluice.api.config;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.context.ApplicationListener;
import org.springframework.context.event.ContextClosedEvent;

/**
 * The deadline of an orderly shutdown. The timeout starts when the shutdown is requested, so it
 * includes the time that the servers need to stop. Safe for use by many threads.
 */
final class ShutdownDeadline implements ApplicationListener<ContextClosedEvent> {
  private final Duration timeout;
  private volatile @Nullable Long shutdownNanos;

  ShutdownDeadline(Duration timeout) {
    this.timeout = timeout;
  }

  @Override
  public void onApplicationEvent(ContextClosedEvent event) {
    if (shutdownNanos == null) { // child contexts, such as the management port's, close too
      shutdownNanos = System.nanoTime();
    }
  }

  /**
   * Returns the time until the deadline, never negative; the whole timeout before the shutdown is
   * requested.
   */
  Duration remaining() {
    var start = shutdownNanos;
    if (start == null) {
      return timeout;
    }
    return Duration.ofNanos(Math.max(0, timeout.toNanos() - (System.nanoTime() - start)));
  }
}
