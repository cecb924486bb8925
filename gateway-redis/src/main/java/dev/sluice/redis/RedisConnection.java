package dev.sluice.redis;

import dev.sluice.core.port.TimeoutScheduler;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisConnectionStateAdapter;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.ByteArrayCodec;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A connection to Redis that is opened at the first use and reopened after a loss. Safe for use by
 * many threads.
 *
 * <p>Lettuce restores an open connection by itself, and rejects commands immediately until it is
 * restored. A command without a reply within its timeout closes the connection nevertheless: the
 * peer may have disappeared without closing it, which TCP detects only after about 15 minutes.
 *
 * <p>A caller that relies on earlier replies of Redis compares {@link #disconnectCount}: Redis may
 * have lost the corresponding data at a restart.
 *
 * <p>{@code connectionFuture}, {@code failedAt} and {@code closed} are guarded by {@code lock}.
 */
final class RedisConnection implements AutoCloseable {

  /** Minimum time between a failed connection attempt and the next one, for all callers. */
  private static final Duration MIN_CONNECT_INTERVAL = Duration.ofMillis(500);

  private final RedisClient client;
  private final RedisURI uri;
  private final Object lock = new Object();

  /** Timeouts on the timer wheel of Lettuce, which fires up to 100 ms late. */
  private final TimeoutScheduler timeoutScheduler;

  private final AtomicInteger disconnectCount = new AtomicInteger();

  private @Nullable CompletableFuture<StatefulRedisConnection<byte[], byte[]>> connectionFuture;
  private long failedAt;
  private boolean closed;

  RedisConnection(RedisClient client, RedisURI uri) {
    this.client = client;
    this.uri = uri;
    var wheel = client.getResources().timer();
    this.timeoutScheduler =
        (timeout, onTimeout) -> {
          var deadline =
              wheel.newTimeout(_ -> onTimeout.run(), timeout.toNanos(), TimeUnit.NANOSECONDS);
          return deadline::cancel;
        };
  }

  /**
   * Returns the number of lost connections. A loss is counted before the next connection opens, so
   * that a caller never mistakes a reply of the next connection for one of the lost connection.
   */
  int disconnectCount() {
    return disconnectCount.get();
  }

  /** The command was not sent to Redis, so it had no effect. */
  static final class CommandNotSentException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    CommandNotSentException(String message, @Nullable Throwable cause) {
      super(message, cause);
    }
  }

  /**
   * Sends a command as soon as the connection is open. The future fails with {@link
   * CommandNotSentException} when the command was certainly not sent.
   *
   * @param timeout time after which the future fails with a {@link TimeoutException}
   */
  <T> CompletableFuture<T> send(
      Duration timeout,
      Function<StatefulRedisConnection<byte[], byte[]>, CompletableFuture<T>> command) {
    var connection = connect();
    var sent =
        connection.handle(
            (redis, failure) -> {
              if (redis == null) {
                throw new CommandNotSentException(String.valueOf(failure), failure);
              }
              if (!redis.isOpen()) { // Lettuce is reconnecting
                throw new CommandNotSentException("not connected", null);
              }
              return redis;
            });
    return timeoutScheduler
        .orTimeout(timeout, sent.thenCompose(command))
        .whenComplete(
            (_, failure) -> {
              if (failure != null && cause(failure) instanceof TimeoutException) {
                drop(connection);
              }
            });
  }

  /**
   * Sends a command like {@link #send} and waits for its reply.
   *
   * @throws SpoolUnreachableException when the command fails
   */
  <T> T call(
      Duration timeout,
      Function<StatefulRedisConnection<byte[], byte[]>, CompletableFuture<T>> command)
      throws InterruptedException {
    try {
      return send(timeout, command).get();
    } catch (ExecutionException e) {
      throw toUnreachableException(e, timeout);
    }
  }

  /**
   * Sends a command like {@link #call}, but does not react to an interrupt, for steps whose outcome
   * the caller must know.
   *
   * @throws SpoolUnreachableException when the command fails
   */
  <T> T callUninterruptibly(
      Duration timeout,
      Function<StatefulRedisConnection<byte[], byte[]>, CompletableFuture<T>> command) {
    try {
      return send(timeout, command).join();
    } catch (CompletionException e) {
      throw toUnreachableException(e, timeout);
    }
  }

  private static SpoolUnreachableException toUnreachableException(
      Throwable failure, Duration timeout) {
    var cause = cause(failure);
    return new SpoolUnreachableException(reason(cause, timeout), cause);
  }

  /** Returns the reason of the failure for the operator, in one line. */
  static String reason(Throwable failure, Duration timeout) {
    var cause = cause(failure);
    if (cause instanceof TimeoutException) {
      return "Redis did not reply within " + timeout.toMillis() + " ms";
    }
    var root = cause; // Lettuce's own message is "Unable to connect"; its root cause has the reason
    while (root.getCause() != null) {
      root = root.getCause();
    }
    return "Redis: " + (root.getMessage() == null ? root.toString() : root.getMessage());
  }

  /** Whether Redis has sent an error reply, as opposed to being unreachable. */
  static boolean isErrorReply(Throwable failure) {
    return cause(failure) instanceof RedisCommandExecutionException;
  }

  /** Whether the command certainly had no effect: it was not sent, or Redis sent an error reply. */
  static boolean isNotExecuted(Throwable failure) {
    return isErrorReply(failure) || cause(failure) instanceof CommandNotSentException;
  }

  static Throwable cause(Throwable failure) {
    var cause = failure;
    while ((cause instanceof CompletionException || cause instanceof ExecutionException)
        && cause.getCause() != null) {
      cause = cause.getCause();
    }
    return cause;
  }

  private CompletableFuture<StatefulRedisConnection<byte[], byte[]>> connect() {
    synchronized (lock) {
      if (closed) {
        return CompletableFuture.failedFuture(new SpoolUnreachableException("closed", null));
      }
      var current = connectionFuture;
      if (current == null
          || current.isCompletedExceptionally()
              && System.nanoTime() - failedAt >= MIN_CONNECT_INTERVAL.toNanos()) {
        current =
            client
                .connectAsync(ByteArrayCodec.INSTANCE, uri)
                .toCompletableFuture()
                .whenComplete(this::onConnected);
        connectionFuture = current;
      }
      return current;
    }
  }

  private void onConnected(
      @Nullable StatefulRedisConnection<byte[], byte[]> redis, @Nullable Throwable failure) {
    if (redis != null) {
      redis.addListener(
          new RedisConnectionStateAdapter() {
            @Override
            public void onRedisDisconnected(RedisChannelHandler<?, ?> connection) {
              disconnectCount.incrementAndGet();
            }
          });
    }
    boolean closedMeanwhile;
    synchronized (lock) {
      closedMeanwhile = closed;
      failedAt = System.nanoTime();
    }
    if (closedMeanwhile && redis != null) {
      var _ = redis.closeAsync();
    }
  }

  private void drop(CompletableFuture<StatefulRedisConnection<byte[], byte[]>> connection) {
    synchronized (lock) {
      if (connectionFuture == connection && connection.isDone()) {
        connectionFuture = null;
        disconnectCount.incrementAndGet(); // onRedisDisconnected of this connection comes later
      }
    }
    if (connection.state() == Future.State.SUCCESS) {
      var _ = connection.resultNow().closeAsync();
    }
  }

  /** Closes the connection within a second. Commands in flight fail. */
  @Override
  public void close() {
    CompletableFuture<StatefulRedisConnection<byte[], byte[]>> last;
    synchronized (lock) {
      closed = true;
      last = connectionFuture;
      connectionFuture = null;
    }
    if (last != null && last.state() == Future.State.SUCCESS) { // else onConnected() closes it
      var _ =
          last.resultNow()
              .closeAsync()
              .orTimeout(1, TimeUnit.SECONDS)
              .exceptionally(_ -> null) // the connection is not used again, so a failure is ignored
              .join();
    }
  }
}
