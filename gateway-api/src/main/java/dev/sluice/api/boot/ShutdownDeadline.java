package dev.sluice.api.boot;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.context.ApplicationListener;
import org.springframework.context.event.ContextClosedEvent;

/**
 * What an orderly end may take. It counts from the moment the end was asked for, whatever the doors
 * need of it. Safe for use by many threads.
 */
final class ShutdownDeadline implements ApplicationListener<ContextClosedEvent> {
  private final Duration timeout;
  private volatile @Nullable Long shutdownNanos;

  ShutdownDeadline(Duration timeout) {
    this.timeout = timeout;
  }

  @Override
  public void onApplicationEvent(ContextClosedEvent event) {
    if (shutdownNanos == null) { // contexts below this one, the management port's, close too
      shutdownNanos = System.nanoTime();
    }
  }

  /** All of it while no end was asked for; never negative. */
  Duration remaining() {
    var start = shutdownNanos;
    if (start == null) {
      return timeout;
    }
    return Duration.ofNanos(Math.max(0, timeout.toNanos() - (System.nanoTime() - start)));
  }
}
