package dev.sluice.api.net;

import io.micrometer.core.instrument.Counter;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http2.Http2StreamChannel;
import io.netty.util.concurrent.Future;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import reactor.netty.Connection;
import reactor.netty.ConnectionObserver;
import reactor.netty.http.server.HttpServerState;

/**
 * Closes an HTTP connection on which no request is in progress: one that sends no complete request
 * head within a timeout, counted from its start or from the first byte of the head, and one that is
 * idle between requests for longer than another. While a request is in progress, other timeouts
 * apply.
 *
 * <p>In HTTP/2 the first timeout applies to the first request of a connection. Later bytes may be
 * those of a ping, so that only the idle timeout applies to later requests.
 *
 * <p>The handler is the first one of a connection, so it sees the bytes before TLS. All methods run
 * on the event loop of the connection.
 */
final class RequestTimeoutHandler extends ChannelInboundHandlerAdapter {
  private final long headTimeoutNanos;
  private final long idleTimeoutNanos;
  private final Counter headTimeouts;
  private final Counter idleTimeouts;

  private long deadlineNanos;
  private boolean idle;
  private boolean http2;
  private int requests;
  private @Nullable Future<?> check;

  RequestTimeoutHandler(
      Duration headTimeout, Duration idleTimeout, Counter headTimeouts, Counter idleTimeouts) {
    this.headTimeoutNanos = headTimeout.toNanos();
    this.idleTimeoutNanos = idleTimeout.toNanos();
    this.headTimeouts = headTimeouts;
    this.idleTimeouts = idleTimeouts;
  }

  /** Observes the requests of all connections of a server. */
  static void onStateChange(Connection connection, ConnectionObserver.State state) {
    if (state != HttpServerState.REQUEST_RECEIVED
        && state != ConnectionObserver.State.DISCONNECTING) {
      return;
    }
    var channel = connection.channel();
    boolean stream = channel instanceof Http2StreamChannel;
    var transport = stream ? channel.parent() : channel;
    var handler = transport.pipeline().get(RequestTimeoutHandler.class);
    if (handler == null) {
      return;
    }
    if (transport.eventLoop().inEventLoop()) {
      handler.onStateChange(channel, stream, state);
    } else {
      transport.eventLoop().execute(() -> handler.onStateChange(channel, stream, state));
    }
  }

  private void onStateChange(Channel channel, boolean stream, ConnectionObserver.State state) {
    if (state == HttpServerState.REQUEST_RECEIVED) {
      idle = false;
      if (stream) {
        http2 = true;
        requests++;
        channel.closeFuture().addListener(_ -> onRequestEnd(requests - 1));
      } else {
        requests = 1;
      }
    } else if (!stream) {
      onRequestEnd(0);
    }
  }

  private void onRequestEnd(int remaining) {
    requests = remaining;
    if (remaining == 0) {
      idle = true;
      deadlineNanos = System.nanoTime() + idleTimeoutNanos;
    }
  }

  @Override
  public void handlerAdded(ChannelHandlerContext context) {
    deadlineNanos = System.nanoTime() + headTimeoutNanos;
    schedule(context, headTimeoutNanos);
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    if (idle && !http2) {
      idle = false;
      deadlineNanos = System.nanoTime() + headTimeoutNanos;
    }
    context.fireChannelRead(message);
  }

  /** One task for each connection, so that a request only sets a deadline. */
  private void schedule(ChannelHandlerContext context, long delayNanos) {
    // not later than the shorter timeout: the deadline of an idle connection becomes earlier with
    // the first byte
    long delay = Math.min(delayNanos, Math.min(headTimeoutNanos, idleTimeoutNanos));
    check =
        context.executor().schedule(() -> closeAfterDeadline(context), delay, TimeUnit.NANOSECONDS);
  }

  private void closeAfterDeadline(ChannelHandlerContext context) {
    if (!context.channel().isOpen()) {
      return;
    }
    long remaining = deadlineNanos - System.nanoTime();
    if (requests > 0) {
      schedule(context, headTimeoutNanos);
    } else if (remaining > 0) {
      schedule(context, remaining);
    } else {
      (idle ? idleTimeouts : headTimeouts).increment();
      var _ = context.channel().close(); // through all handlers: HTTP/2 sends GOAWAY
    }
  }

  @Override
  public void channelInactive(ChannelHandlerContext context) {
    if (check != null) {
      check.cancel(false);
    }
    context.fireChannelInactive();
  }
}
