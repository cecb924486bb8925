package dev.sluice.api.boot;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.context.ApplicationListener;
import org.springframework.context.event.ContextClosedEvent;

/**
 * What an orderly end may take. It counts from the moment the end was asked for, whatever the doors
 * need of it. Safe for use by many threads.
 */
final class ShutdownBudget implements ApplicationListener<ContextClosedEvent> {
  private final Duration budget;
  private volatile @Nullable Long asked;

  ShutdownBudget(Duration budget) {
    this.budget = budget;
  }

  @Override
  public void onApplicationEvent(ContextClosedEvent event) {
    if (asked == null) { // contexts below this one, the management port's, close too
      asked = System.nanoTime();
    }
  }

  /** All of it while no end was asked for; never negative. */
  Duration remaining() {
    var since = asked;
    if (since == null) {
      return budget;
    }
    return Duration.ofNanos(Math.max(0, budget.toNanos() - (System.nanoTime() - since)));
  }
}
