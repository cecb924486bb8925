package dev.sluice.bench;

import java.io.IOException;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A task that samples every few seconds while a load generator sends. */
interface Sampler {

  void sample() throws IOException, InterruptedException;

  /** Sends, and samples at the end of each interval. */
  static LoadResult sendSampled(Callable<LoadResult> send, int everySeconds, Sampler sampler)
      throws IOException, InterruptedException {
    try (var executor = Executors.newSingleThreadExecutor()) {
      long next = System.nanoTime();
      var load = executor.submit(send);
      try {
        while (true) {
          next += TimeUnit.SECONDS.toNanos(everySeconds);
          if (endsBefore(load, next)) {
            return load.get();
          }
          sampler.sample();
        }
      } catch (ExecutionException e) {
        throw new IOException("the load generator failed", e);
      } finally {
        load.cancel(true);
      }
    }
  }

  /** Waits until the given time or the end of the load. Whether the load has ended. */
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
