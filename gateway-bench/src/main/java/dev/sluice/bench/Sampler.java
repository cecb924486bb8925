package dev.sluice.bench;

import java.io.IOException;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** What is looked at every few seconds while a generator sends. */
interface Sampler {

  void sample() throws IOException, InterruptedException;

  /** Sends, and looks at the end of each such span. */
  static LoadResult sendSampled(Callable<LoadResult> send, int everySeconds, Sampler sampler)
      throws IOException, InterruptedException {
    try (var other = Executors.newSingleThreadExecutor()) {
      long next = System.nanoTime();
      var load = other.submit(send);
      try {
        while (true) {
          next += TimeUnit.SECONDS.toNanos(everySeconds);
          if (endsBefore(load, next)) {
            return load.get();
          }
          sampler.sample();
        }
      } catch (ExecutionException e) {
        throw new IOException("the load has failed", e);
      } finally {
        load.cancel(true);
      }
    }
  }

  /** Returns at that moment, or at the end of the load. */
  private static boolean endsBefore(Future<LoadResult> load, long nanos)
      throws ExecutionException, InterruptedException {
    try {
      load.get(nanos - System.nanoTime(), TimeUnit.NANOSECONDS);
      return true;
    } catch (TimeoutException _) {
      return false;
    }
  }
}
