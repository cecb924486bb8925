package dev.sluice.core.ingest;

import java.util.stream.Stream;

/** Threads of a test that explores schedules. */
final class Threads {
  private Threads() {}

  /** Runs each task in a thread of its own, and returns when all have ended. */
  static void runAll(Runnable... tasks) throws InterruptedException {
    var threads = Stream.of(tasks).map(Thread::new).toList();
    threads.forEach(Thread::start);
    for (var thread : threads) {
      thread.join();
    }
  }
}
