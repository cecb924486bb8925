package dev.sluice.api;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.http2.DefaultHttp2DataFrame;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.DefaultHttp2HeadersFrame;
import io.netty.handler.codec.http2.DefaultHttp2ResetFrame;
import io.netty.handler.codec.http2.Http2DataFrame;
import io.netty.handler.codec.http2.Http2Error;
import io.netty.handler.codec.http2.Http2FrameCodec;
import io.netty.handler.codec.http2.Http2FrameCodecBuilder;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.Http2HeadersFrame;
import io.netty.handler.codec.http2.Http2MultiplexHandler;
import io.netty.handler.codec.http2.Http2ResetFrame;
import io.netty.handler.codec.http2.Http2StreamChannel;
import io.netty.handler.codec.http2.Http2StreamChannelBootstrap;
import io.netty.util.ReferenceCountUtil;
import java.io.ByteArrayOutputStream;
import java.net.InetAddress;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * An HTTP/2 connection with prior knowledge that sends and receives single frames, which complete
 * clients hide.
 */
final class Http2 implements AutoCloseable {
  private static final long TIMEOUT_SECONDS = 30;

  private final MultiThreadIoEventLoopGroup loop =
      new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory());
  private final Http2FrameCodec codec = Http2FrameCodecBuilder.forClient().build();
  private final Channel connection;

  Http2(int port) throws InterruptedException {
    connection =
        new Bootstrap()
            .group(loop)
            .channel(NioSocketChannel.class)
            .handler(
                new ChannelInitializer<>() {
                  @Override
                  protected void initChannel(Channel channel) {
                    channel
                        .pipeline()
                        .addLast(
                            codec, new Http2MultiplexHandler(new ChannelInboundHandlerAdapter()));
                  }
                })
            .connect(InetAddress.getLoopbackAddress(), port)
            .sync()
            .channel();
  }

  Http2ClientStream post(String path, String type) throws Exception {
    var stream = new Http2ClientStream();
    stream.channel =
        new Http2StreamChannelBootstrap(connection)
            .handler(stream)
            .open()
            .get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
    var headers =
        new DefaultHttp2Headers()
            .method("POST")
            .scheme("http")
            .authority("localhost")
            .path(path)
            .set("content-type", type);
    stream.channel.writeAndFlush(new DefaultHttp2HeadersFrame(headers)).sync();
    return stream;
  }

  boolean isOpen() {
    return connection.isActive();
  }

  /**
   * Returns the maximum number of concurrent streams in the settings of the server, once received.
   */
  int maxStreams() {
    return codec.connection().local().maxActiveStreams();
  }

  @Override
  public void close() {
    connection.close().syncUninterruptibly();
    var _ = loop.shutdownGracefully(0, 0, TimeUnit.SECONDS);
  }

  record Http2Response(int status, Http2Headers headers, String body) {}

  static final class Http2ClientStream extends ChannelInboundHandlerAdapter {
    private final CompletableFuture<Http2Response> response = new CompletableFuture<>();
    private final CompletableFuture<Http2Error> reset = new CompletableFuture<>();
    private final ByteArrayOutputStream body = new ByteArrayOutputStream();
    private Http2StreamChannel channel;
    private Http2Headers headers;

    /** Sends the bytes, and waits until the flow-control window of the server permits them. */
    void send(byte[] bytes) throws InterruptedException {
      channel.writeAndFlush(new DefaultHttp2DataFrame(Unpooled.wrappedBuffer(bytes))).sync();
    }

    void end() throws InterruptedException {
      channel.writeAndFlush(new DefaultHttp2DataFrame(true)).sync();
    }

    void cancel() throws InterruptedException {
      channel.writeAndFlush(new DefaultHttp2ResetFrame(Http2Error.CANCEL)).sync();
    }

    boolean isReset() {
      return reset.isDone();
    }

    Http2Error reset() throws Exception {
      return reset.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
    }

    Http2Response response() throws Exception {
      return response.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
      if (message instanceof Http2HeadersFrame frame) {
        headers = frame.headers();
        complete(frame.isEndStream());
      } else if (message instanceof Http2DataFrame frame) {
        body.writeBytes(ByteBufUtil.getBytes(frame.content()));
        complete(frame.isEndStream());
      }
      ReferenceCountUtil.release(message);
    }

    private void complete(boolean end) {
      if (end) {
        int status = Integer.parseInt(headers.status().toString());
        response.complete(new Http2Response(status, headers, body.toString(UTF_8)));
      }
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext context, Object event) {
      if (event instanceof Http2ResetFrame frame) {
        reset.complete(Http2Error.valueOf(frame.errorCode()));
      }
      context.fireUserEventTriggered(event);
    }
  }
}
