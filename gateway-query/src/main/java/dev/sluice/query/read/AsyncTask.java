package dev.sluice.query.read;

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;

/**
 * A task that another thread runs while the caller continues. Closing it cancels the task and
 * interrupts its thread if it still runs, so that no work continues for a caller that has ended.
 *
 * @param <T> the type of the result
 */
public final class AsyncTask<T> implements AutoCloseable {
  private final Future<T> future;

  private AsyncTask(Future<T> future) {
    this.future = future;
  }

  /**
   * Starts the task on a new virtual thread; meant for tasks that wait, not for tasks that compute.
   */
  public static <T> AsyncTask<T> start(Callable<T> task) {
    var future = new FutureTask<>(task);
    Thread.startVirtualThread(future);
    return new AsyncTask<>(future);
  }

  /** Returns the async task of a future that is already submitted. */
  public static <T> AsyncTask<T> of(Future<T> future) {
    return new AsyncTask<>(future);
  }

  /**
   * Waits for the result.
   *
   * @throws RuntimeException the unchanged exception of the task, if the task failed with one
   */
  public T get() throws InterruptedException {
    try {
      return future.get();
    } catch (ExecutionException e) {
      switch (e.getCause()) {
        case RuntimeException failed -> throw failed;
        case Error error -> throw error;
        case null, default -> throw new IllegalStateException(e.getCause());
      }
    }
  }

  @Override
  public void close() {
    future.cancel(true);
  }
}
