package dev.sluice.api;

import dev.sluice.core.port.Scheduler;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A scheduler and clock whose time stands still until the test moves it. */
public final class ManualScheduler implements Scheduler {
  private record ScheduledTask(long due, Runnable run) {}

  private final List<ScheduledTask> tasks = new ArrayList<>();
  private long now = Long.MAX_VALUE - 1; // just before an overflow of the nano time

  synchronized long nanoTime() {
    return now;
  }

  @Override
  public synchronized void schedule(Duration delay, Runnable task) {
    tasks.add(new ScheduledTask(now + delay.toNanos(), task));
  }

  public void advance(Duration by) {
    synchronized (this) {
      now += by.toNanos();
    }
    for (var task = due(); task != null; task = due()) {
      task.run().run();
    }
  }

  /** Returns the number of scheduled tasks that have not run. */
  public synchronized int pendingTasks() {
    return tasks.size();
  }

  private synchronized @Nullable ScheduledTask due() {
    var next =
        tasks.stream()
            .filter(task -> task.due() - now <= 0)
            .min(Comparator.comparingLong(task -> task.due() - now));
    next.ifPresent(tasks::remove);
    return next.orElse(null);
  }
}
