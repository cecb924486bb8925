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
 * <p>Who relies on what Redis said before asks for {@link #losses}: Redis may have forgotten it.
 *
 * <p>{@code opening}, {@code failedAt} and {@code closed} are guarded by {@code lock}.
 */
final class Connection implements AutoCloseable {

  /** Nobody is asked to connect more often, however many want to append. */
  private static final Duration BETWEEN_ATTEMPTS = Duration.ofMillis(500);

  private final RedisClient client;
  private final RedisURI uri;
  private final Object lock = new Object();

  /** A tenth of a second late at most. */
  private final TimeoutScheduler deadlines;

  private final AtomicInteger losses = new AtomicInteger();

  private @Nullable CompletableFuture<StatefulRedisConnection<byte[], byte[]>> opening;
  private long failedAt;
  private boolean closed;

  Connection(RedisClient client, RedisURI uri) {
    this.client = client;
    this.uri = uri;
    var wheel = client.getResources().timer();
    this.deadlines =
        (within, missed) -> {
          var deadline =
              wheel.newTimeout(_ -> missed.run(), within.toNanos(), TimeUnit.NANOSECONDS);
          return deadline::cancel;
        };
  }

  /**
   * How often a connection was lost. Counted before there is another one, so that an answer of the
   * next is never taken for one of the last.
   */
  int losses() {
    return losses.get();
  }

  /** A command was not sent, so it has not happened. */
  static final class NotSent extends RuntimeException {
    private static final long serialVersionUID = 1L;

    NotSent(String message, @Nullable Throwable cause) {
      super(message, cause);
    }
  }

  /**
   * Sends a command as soon as there is a connection; fails with {@link NotSent} when it certainly
   * was not.
   *
   * @param within fails with a {@link TimeoutException} after that
   */
  <T> CompletableFuture<T> send(
      Duration within,
      Function<StatefulRedisConnection<byte[], byte[]>, CompletableFuture<T>> command) {
    var opened = open();
    var sent =
        opened.handle(
            (redis, failure) -> {
              if (redis == null) {
                throw new NotSent(String.valueOf(failure), failure);
              }
              if (!redis.isOpen()) { // Lettuce is at making it anew
                throw new NotSent("not connected", null);
              }
              return redis;
            });
    return deadlines
        .orTimeout(within, sent.thenCompose(command))
        .whenComplete(
            (_, failure) -> {
              if (failure != null && cause(failure) instanceof TimeoutException) {
                drop(opened);
              }
            });
  }

  /** As {@link #send}, and waits. */
  <T> T call(
      Duration within,
      Function<StatefulRedisConnection<byte[], byte[]>, CompletableFuture<T>> command)
      throws InterruptedException {
    try {
      return send(within, command).get();
    } catch (ExecutionException e) {
      throw outOfReach(e, within);
    }
  }

  /** As {@link #call}, for what must not be left half done by an interrupt. */
  <T> T callToTheEnd(
      Duration within,
      Function<StatefulRedisConnection<byte[], byte[]>, CompletableFuture<T>> command) {
    try {
      return send(within, command).join();
    } catch (CompletionException e) {
      throw outOfReach(e, within);
    }
  }

  private static SpoolOutOfReach outOfReach(Throwable failure, Duration within) {
    var cause = cause(failure);
    return new SpoolOutOfReach(reason(cause, within), cause);
  }

  /** One line for the operator. */
  static String reason(Throwable failure, Duration within) {
    var cause = cause(failure);
    if (cause instanceof TimeoutException) {
      return "Redis did not answer within " + within.toMillis() + " ms";
    }
    var root = cause; // Lettuce's own words are "Unable to connect"; why is said below
    while (root.getCause() != null) {
      root = root.getCause();
    }
    return "Redis: " + (root.getMessage() == null ? root.toString() : root.getMessage());
  }

  /** Whether Redis itself said no, as against being out of reach. */
  static boolean answered(Throwable failure) {
    return cause(failure) instanceof RedisCommandExecutionException;
  }

  /** Whether the command certainly did nothing: it was not sent, or Redis said no. */
  static boolean refused(Throwable failure) {
    return answered(failure) || cause(failure) instanceof NotSent;
  }

  static Throwable cause(Throwable failure) {
    var cause = failure;
    while ((cause instanceof CompletionException || cause instanceof ExecutionException)
        && cause.getCause() != null) {
      cause = cause.getCause();
    }
    return cause;
  }

  private CompletableFuture<StatefulRedisConnection<byte[], byte[]>> open() {
    synchronized (lock) {
      if (closed) {
        return CompletableFuture.failedFuture(new SpoolOutOfReach("closed", null));
      }
      var current = opening;
      if (current == null
          || current.isCompletedExceptionally()
              && System.nanoTime() - failedAt >= BETWEEN_ATTEMPTS.toNanos()) {
        current =
            client
                .connectAsync(ByteArrayCodec.INSTANCE, uri)
                .toCompletableFuture()
                .whenComplete(this::opened);
        opening = current;
      }
      return current;
    }
  }

  private void opened(
      @Nullable StatefulRedisConnection<byte[], byte[]> redis, @Nullable Throwable failure) {
    if (redis != null) {
      redis.addListener(
          new RedisConnectionStateAdapter() {
            @Override
            public void onRedisDisconnected(RedisChannelHandler<?, ?> connection) {
              losses.incrementAndGet();
            }
          });
    }
    boolean late;
    synchronized (lock) {
      late = closed;
      failedAt = System.nanoTime();
    }
    if (late && redis != null) {
      var _ = redis.closeAsync();
    }
  }

  private void drop(CompletableFuture<StatefulRedisConnection<byte[], byte[]>> opened) {
    synchronized (lock) {
      if (opening == opened && opened.isDone()) {
        opening = null;
        losses.incrementAndGet(); // its own end comes when it comes
      }
    }
    if (opened.state() == Future.State.SUCCESS) {
      var _ = opened.resultNow().closeAsync();
    }
  }

  /** Ends the connection, within a second; what is under way fails. */
  @Override
  public void close() {
    CompletableFuture<StatefulRedisConnection<byte[], byte[]>> last;
    synchronized (lock) {
      closed = true;
      last = opening;
      opening = null;
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
