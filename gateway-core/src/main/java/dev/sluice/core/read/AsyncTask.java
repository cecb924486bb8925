package dev.sluice.core.read;

import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;

/**
 * What is found out by another thread, while the caller goes on. Closing it ends that, if it is not
 * over; so nothing works on for a caller who has gone.
 *
 * @param <T> what it will be
 */
public final class AsyncTask<T> implements AutoCloseable {
  private final Future<T> future;

  private AsyncTask(Future<T> future) {
    this.future = future;
  }

  /** By a virtual thread of its own: for what waits, and does not compute. */
  public static <T> AsyncTask<T> start(Callable<T> task) {
    var future = new FutureTask<>(task);
    Thread.startVirtualThread(future);
    return new AsyncTask<>(future);
  }

  /** By whoever was asked already. */
  public static <T> AsyncTask<T> of(Future<T> future) {
    return new AsyncTask<>(future);
  }

  /**
   * Waits for it.
   *
   * @throws RuntimeException that went wrong with it, as it is
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
