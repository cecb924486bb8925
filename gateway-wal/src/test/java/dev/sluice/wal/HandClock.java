package dev.sluice.wal;

import dev.sluice.core.port.Deadlines;
import dev.sluice.core.port.Timer;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;

/** Time that stands still until the test moves it, and the timer that goes by it. */
final class HandClock implements InstantSource, Timer, Deadlines {
  private record Task(Instant due, Runnable run) {}

  private final List<Task> tasks = new ArrayList<>();
  private Instant now;

  HandClock(String now) {
    this.now = Instant.parse(now);
  }

  @Override
  public synchronized Instant instant() {
    return now;
  }

  @Override
  public synchronized void after(Duration delay, Runnable task) {
    tasks.add(new Task(now.plus(delay), task));
  }

  @Override
  public synchronized Runnable set(Duration within, Runnable missed) {
    var task = new Task(now.plus(within), missed);
    tasks.add(task);
    return () -> takeBack(task);
  }

  private synchronized void takeBack(Task task) {
    tasks.remove(task);
  }

  void advance(Duration by) {
    set(instant().plus(by));
  }

  /** Also back. */
  void set(Instant then) {
    List<Task> due;
    synchronized (this) {
      now = then;
      due = tasks.stream().filter(task -> !task.due().isAfter(now)).toList();
      tasks.removeAll(due);
    }
    due.forEach(task -> task.run().run());
  }
}
