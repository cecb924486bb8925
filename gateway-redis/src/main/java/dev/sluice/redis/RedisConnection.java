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
 * A connection to Redis, made when first needed and again when lost. Safe for use by many threads.
 *
 * <p>Once made, Lettuce restores it by itself and refuses commands at once meanwhile. A command
 * that gets no answer in time ends the connection all the same: the peer may be gone without a
 * word, which TCP would notice only after a quarter of an hour.
 *
 * <p>Who relies on what Redis said before asks for {@link #disconnectCount}: Redis may have
 * forgotten it.
 *
 * <p>{@code opening}, {@code failedAt} and {@code closed} are guarded by {@code lock}.
 */
final class RedisConnection implements AutoCloseable {

  /** Nobody is asked to connect more often, however many want to append. */
  private static final Duration MIN_CONNECT_INTERVAL = Duration.ofMillis(500);

  private final RedisClient client;
  private final RedisURI uri;
  private final Object lock = new Object();

  /** A tenth of a second late at most. */
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
   * How often a connection was lost. Counted before there is another one, so that an answer of the
   * next is never taken for one of the last.
   */
  int disconnectCount() {
    return disconnectCount.get();
  }

  /** A command was not sent, so it has not happened. */
  static final class CommandNotSentException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    CommandNotSentException(String message, @Nullable Throwable cause) {
      super(message, cause);
    }
  }

  /**
   * Sends a command as soon as there is a connection; fails with {@link CommandNotSentException}
   * when it certainly was not.
   *
   * @param timeout fails with a {@link TimeoutException} after that
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
              if (!redis.isOpen()) { // Lettuce is at making it anew
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

  /** As {@link #send}, and waits. */
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

  /** As {@link #call}, for what must not be left half done by an interrupt. */
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

  /** One line for the operator. */
  static String reason(Throwable failure, Duration timeout) {
    var cause = cause(failure);
    if (cause instanceof TimeoutException) {
      return "Redis did not answer within " + timeout.toMillis() + " ms";
    }
    var root = cause; // Lettuce's own words are "Unable to connect"; why is said below
    while (root.getCause() != null) {
      root = root.getCause();
    }
    return "Redis: " + (root.getMessage() == null ? root.toString() : root.getMessage());
  }

  /** Whether Redis itself said no, as against being out of reach. */
  static boolean isErrorReply(Throwable failure) {
    return cause(failure) instanceof RedisCommandExecutionException;
  }

  /** Whether the command certainly did nothing: it was not sent, or Redis said no. */
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
        disconnectCount.incrementAndGet(); // its own end comes when it comes
      }
    }
    if (connection.state() == Future.State.SUCCESS) {
      var _ = connection.resultNow().closeAsync();
    }
  }

  /** Ends the connection, within a second; what is under way fails. */
  @Override
  public void close() {
    CompletableFuture<StatefulRedisConnection<byte[], byte[]>> last;
    synchronized (lock) {
      closed = true;
      last = connectionFuture;
      connectionFuture = null;
    }
    if (last != null && last.state() == Future.State.SUCCESS) { // else opened() sees to it
      var _ =
          last.resultNow()
              .closeAsync()
              .orTimeout(1, TimeUnit.SECONDS)
              .exceptionally(_ -> null) // no use for the reason: nobody will use it again
              .join();
    }
  }
}
