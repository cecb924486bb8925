package dev.sluice.core.port;

import java.time.Duration;

/** Runs something later, on a thread of its own choosing. Safe for use by many threads. */
@FunctionalInterface
public interface Timer {
  void after(Duration delay, Runnable task);
}
