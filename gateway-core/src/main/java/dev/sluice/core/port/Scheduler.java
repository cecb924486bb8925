package dev.sluice.core.port;

import java.time.Duration;

/** Runs something later, on a thread of its own choosing. Safe for use by many threads. */
@FunctionalInterface
public interface Scheduler {
  void schedule(Duration delay, Runnable task);
}
