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
 * The handling of the unread part of a request body when its response is ready.
 *
 * <p>A short rest is read before the response, so that the connection stays open.
 *
 * <p>For a long rest the connection is closed. Closing a connection on which bytes still arrive
 * resets it, and a reset discards response bytes that the client has not read. Therefore the
 * gateway closes its half of the connection after the response, and reads and discards the rest, up
 * to a limit, until the client closes its half. Other servers call this a lingering close.
 *
 * <p>In HTTP/2 a long rest ends its stream and not the connection, which other streams share. The
 * rest of the stream is discarded up to the same limit, so that the flow-control window of the
 * connection stays open. The stream is reset without an error after the limit. After an immediate
 * reset, each frame in flight would be an error that Netty counts, and Netty would close the
 * connection.
 */
final class LingeringClose {
  private static final String BODY_READ_ATTRIBUTE = LingeringClose.class.getName();
  private static final long MAX_DRAINED_BYTES = 1 << 20;
  private static final long MAX_DISCARDED_BYTES = 256L << 20;
  private static final Duration LINGER_TIMEOUT = Duration.ofSeconds(10);
  private static final String HANDLER_NAME = "sluice-linger";

  private LingeringClose() {}

  /** Records that a handler reads the body. Call it before and after the read. */
  static void markBodyRead(ServerRequest request, boolean complete) {
    request.attributes().put(BODY_READ_ATTRIBUTE, complete);
  }

  /** Filters the requests of every route. */
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

  /** A lingering close of a connection. All methods run on the event loop of the channel. */
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

  /**
   * A lingering close of an HTTP/2 stream. reactor-netty already discards the bytes that arrive
   * after the response.
   */
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
