package dev.sluice.api.http;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.channel.socket.DuplexChannel;
import io.netty.handler.codec.http2.DefaultHttp2ResetFrame;
import io.netty.handler.codec.http2.Http2DataFrame;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2StreamChannel;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.Future;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.springframework.core.io.buffer.DataBufferUtils;
import org.springframework.http.HttpHeaders;
import org.springframework.http.server.reactive.ServerHttpRequestDecorator;
import org.springframework.web.reactive.function.server.HandlerFunction;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Mono;
import reactor.netty.http.server.HttpServerRequest;

/**
 * Sees to what a request still sends when its answer is ready.
 *
 * <p>A short rest is read first, so that the connection can be kept.
 *
 * <p>A long rest is not waited for, and its connection not kept. But to close a connection on which
 * bytes arrive is to reset it, and a reset throws away what the client has not read yet. So, after
 * the answer, our half of the connection is closed and what still comes is read and thrown away, up
 * to a bound, until the client closes its half: what other servers call a lingering close.
 *
 * <p>In HTTP/2 a long rest ends its stream and not the connection, which others share. What still
 * comes on the stream is thrown away up to the same bound, so that the connection's window does not
 * run full; and the stream is reset only after it, without an error. To reset it at once would be
 * answered by frames that are under way already, each of them an error that Netty counts until it
 * closes the connection.
 */
final class LingeringClose {
  private static final String BODY_READ_ATTRIBUTE = LingeringClose.class.getName();
  private static final long MAX_DRAINED_BYTES = 1 << 20;
  private static final long MAX_DISCARDED_BYTES = 256L << 20;
  private static final Duration LINGER_TIMEOUT = Duration.ofSeconds(10);
  private static final String HANDLER_NAME = "sluice-linger";

  private LingeringClose() {}

  /** To be told by whoever reads the body, before and after. */
  static void markBodyRead(ServerRequest request, boolean complete) {
    request.attributes().put(BODY_READ_ATTRIBUTE, complete);
  }

  /** A filter for every route. */
  static Mono<ServerResponse> filter(
      ServerRequest request, HandlerFunction<ServerResponse> handler) {
    return handler.handle(request).flatMap(response -> drainOrLinger(request, response));
  }

  private static Mono<ServerResponse> drainOrLinger(
      ServerRequest request, ServerResponse response) {
    var read = request.attribute(BODY_READ_ATTRIBUTE).orElse(null);
    if (Boolean.TRUE.equals(read)) {
      return Mono.just(response);
    }
    if (read == null && remainingBytes(request) <= MAX_DRAINED_BYTES) {
      return request
          .exchange()
          .getRequest()
          .getBody()
          .doOnNext(DataBufferUtils::release)
          .then(Mono.just(response))
          .timeout(LINGER_TIMEOUT, Mono.just(response))
          .onErrorReturn(response);
    }
    var http = request.exchange().getRequest();
    if (ServerHttpRequestDecorator.getNativeRequest(http) instanceof HttpServerRequest netty) {
      netty.withConnection(connection -> linger(connection.channel(), request));
    }
    return Mono.just(response);
  }

  private static void linger(Channel channel, ServerRequest request) {
    boolean stream = channel instanceof Http2StreamChannel;
    if (!stream) {
      request.exchange().getResponse().getHeaders().setConnection("close");
    }
    if (channel.pipeline().get(HANDLER_NAME) == null) {
      channel
          .pipeline()
          .addFirst(
              HANDLER_NAME,
              stream ? new LingeringStreamHandler() : new LingeringConnectionHandler());
    }
  }

  private static long remainingBytes(ServerRequest request) {
    boolean chunked = request.headers().firstHeader(HttpHeaders.TRANSFER_ENCODING) != null;
    return chunked ? Long.MAX_VALUE : request.headers().contentLength().orElse(0);
  }

  /** All methods are called on the channel's event loop. */
  private static final class LingeringConnectionHandler extends ChannelDuplexHandler {
    private @Nullable ChannelPromise closePromise;
    private @Nullable Future<?> timeout;
    private long discardedBytes;

    @Override
    public void close(ChannelHandlerContext context, ChannelPromise promise) {
      if (closePromise != null || !(context.channel() instanceof DuplexChannel channel)) {
        var _ = context.close(promise);
        return;
      }
      closePromise = promise;
      timeout =
          context
              .executor()
              .schedule(() -> closeNow(context), LINGER_TIMEOUT.toSeconds(), TimeUnit.SECONDS);
      var _ = channel.shutdownOutput();
      channel.config().setAutoRead(true);
    }

    private static void closeNow(ChannelHandlerContext context) {
      var _ = context.close();
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
      if (closePromise == null) {
        context.fireChannelRead(message);
        return;
      }
      discardedBytes += message instanceof ByteBuf bytes ? bytes.readableBytes() : 0;
      ReferenceCountUtil.release(message);
      if (discardedBytes > MAX_DISCARDED_BYTES) {
        closeNow(context);
      }
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
      if (timeout != null) {
        timeout.cancel(false);
      }
      if (closePromise != null) {
        closePromise.trySuccess();
      }
      context.fireChannelInactive();
    }
  }

  /** The same for a stream; what comes after its answer is already thrown away by reactor-netty. */
  private static final class LingeringStreamHandler extends ChannelInboundHandlerAdapter {
    private @Nullable Future<?> timeout;
    private long discardedBytes;

    @Override
    public void handlerAdded(ChannelHandlerContext context) {
      timeout =
          context
              .executor()
              .schedule(() -> resetStream(context), LINGER_TIMEOUT.toSeconds(), TimeUnit.SECONDS);
    }

    private static void resetStream(ChannelHandlerContext context) {
      var _ = context.writeAndFlush(new DefaultHttp2ResetFrame(Http2Error.NO_ERROR));
      var _ = context.close();
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
      long before = discardedBytes;
      discardedBytes +=
          message instanceof Http2DataFrame data ? data.initialFlowControlledBytes() : 0;
      context.fireChannelRead(message);
      if (before <= MAX_DISCARDED_BYTES && discardedBytes > MAX_DISCARDED_BYTES) {
        resetStream(context);
      }
    }

    @Override
    public void channelInactive(ChannelHandlerContext context) {
      if (timeout != null) {
        timeout.cancel(false);
      }
      context.fireChannelInactive();
    }
  }
}
