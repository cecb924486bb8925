package dev.sluice.core.failover;

import dev.sluice.core.port.DailyCounts;
import dev.sluice.core.port.DailyCounts.RecordCounts;
import dev.sluice.core.port.FallbackCounts;
import dev.sluice.core.port.Scheduler;
import java.time.Duration;
import java.time.LocalDate;
import java.util.SortedMap;
import org.jspecify.annotations.Nullable;

/**
 * Publishes the daily counts of the fallback after each change, while the circuit breaker is
 * closed. The counts replace those published before, so that a repeated step changes nothing.
 */
final class CountsPublisher {
  private final FallbackCounts target;
  private final String node;
  private final DailyCounts fallback;
  private final CircuitBreaker breaker;
  private final Scheduler scheduler;
  private final Duration interval;

  /** Null when the last step failed, and before the first. */
  private volatile @Nullable SortedMap<LocalDate, RecordCounts> published;

  private volatile boolean stopped;

  CountsPublisher(
      FallbackCounts target,
      String node,
      DailyCounts fallback,
      CircuitBreaker breaker,
      Scheduler scheduler,
      Duration interval) {
    this.target = target;
    this.node = node;
    this.fallback = fallback;
    this.breaker = breaker;
    this.scheduler = scheduler;
    this.interval = interval;
  }

  /** Compares the counts with the published ones at each interval, from now on. */
  void start() {
    if (stopped) {
      return;
    }
    publishChanges();
    try {
      scheduler.schedule(interval, this::start);
    } catch (RuntimeException _) {
      stopped = true; // the scheduler rejects tasks during shutdown
    }
  }

  private void publishChanges() {
    var counts = fallback.recordCounts(LocalDate.EPOCH);
    if (!breaker.isClosed() || counts.equals(published)) {
      return;
    }
    // a failure says nothing about appends, so it does not open the breaker
    var _ =
        breaker
            .withTimeout(() -> target.publish(node, counts))
            .whenComplete((_, failure) -> published = failure == null ? counts : null);
  }

  void stop() {
    stopped = true;
  }
}
