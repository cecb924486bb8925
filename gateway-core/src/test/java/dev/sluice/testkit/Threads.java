package dev.sluice.testkit;

import java.util.stream.Stream;

/** Threads of a test that explores schedules. */
public final class Threads {
  private Threads() {}

  /** Runs each task in a thread of its own, and returns when all have ended. */
  public static void runAll(Runnable... tasks) throws InterruptedException {
    var threads = Stream.of(tasks).map(Thread::new).toList();
    threads.forEach(Thread::start);
    for (var thread : threads) {
      thread.join();
    }
  }
}
