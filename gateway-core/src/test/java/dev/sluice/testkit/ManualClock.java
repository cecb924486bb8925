package dev.sluice.testkit;

import dev.sluice.core.port.Scheduler;
import dev.sluice.core.port.TimeoutScheduler;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * A clock, timer and timeout scheduler whose time stands still until the test moves it.
 * Thread-safe.
 */
public final class ManualClock implements InstantSource, Scheduler, TimeoutScheduler {
  private record Task(Instant due, Runnable run) {}

  private final List<Task> tasks = new ArrayList<>();
  private Instant now;

  /**
   * Creates a clock.
   *
   * @param now the initial time in ISO 8601
   */
  public ManualClock(String now) {
    this.now = Instant.parse(now);
  }

  @Override
  public synchronized Instant instant() {
    return now;
  }

  @Override
  public synchronized void schedule(Duration delay, Runnable task) {
    tasks.add(new Task(now.plus(delay), task));
  }

  @Override
  public synchronized Runnable scheduleTimeout(Duration timeout, Runnable onTimeout) {
    var task = new Task(now.plus(timeout), onTimeout);
    tasks.add(task);
    return () -> cancel(task);
  }

  private synchronized void cancel(Task task) {
    tasks.remove(task);
  }

  /** Returns the number of scheduled tasks that have not run. */
  public synchronized int pendingTasks() {
    return tasks.size();
  }

  public void advance(Duration by) {
    set(instant().plus(by));
  }

  /**
   * Sets the time, forwards or backwards. Due tasks run in this call, in the order of their due
   * times.
   */
  public void set(Instant instant) {
    List<Task> due;
    synchronized (this) {
      now = instant;
      due =
          tasks.stream()
              .filter(task -> !task.due().isAfter(now))
              .sorted(Comparator.comparing(Task::due))
              .toList();
      tasks.removeAll(due);
    }
    due.forEach(task -> task.run().run());
  }
}
