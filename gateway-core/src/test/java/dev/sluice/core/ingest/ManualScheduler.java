package dev.sluice.core.ingest;

import dev.sluice.core.port.Scheduler;
import dev.sluice.core.port.TimeoutScheduler;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Comparator;
import java.util.PriorityQueue;
import org.jspecify.annotations.Nullable;

/** A clock that only the test advances, and a scheduler that uses this clock. */
final class ManualScheduler implements Scheduler, TimeoutScheduler, InstantSource {
  private record Task(Instant due, Runnable run) {}

  private final PriorityQueue<Task> tasks = new PriorityQueue<>(Comparator.comparing(Task::due));
  private Instant now = Instant.parse("2026-08-24T10:00:00.000000001Z");
  private boolean broken;

  void failFromNowOn() {
    broken = true;
  }

  @Override
  public synchronized Instant instant() {
    return now;
  }

  @Override
  public synchronized void schedule(Duration delay, Runnable task) {
    if (broken) {
      throw new IllegalStateException("shutting down");
    }
    tasks.add(new Task(now.plus(delay), task));
  }

  @Override
  public synchronized Runnable scheduleTimeout(Duration timeout, Runnable onTimeout) {
    var task = new Task(now.plus(timeout), onTimeout);
    tasks.add(task);
    return () -> tasks.remove(task);
  }

  /** Whether no task is scheduled. */
  synchronized boolean isIdle() {
    return tasks.isEmpty();
  }

  void advance(Duration by) {
    synchronized (this) {
      now = now.plus(by);
    }
    for (var task = due(); task != null; task = due()) {
      task.run().run();
    }
  }

  private synchronized @Nullable Task due() {
    var next = tasks.peek();
    return next == null || next.due().isAfter(now) ? null : tasks.poll();
  }
}
