package dev.sluice.core.port;

import java.time.Duration;

/** Runs tasks after a delay, on a thread that the implementation chooses. Thread-safe. */
@FunctionalInterface
public interface Scheduler {
  /**
   * Runs a task once after a delay.
   *
   * @throws RuntimeException when the scheduler is shutting down; the task does not run then
   */
  void schedule(Duration delay, Runnable task);
}
