package dev.sluice.api.boot;

import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpServerUpgradeHandler;
import org.springframework.boot.reactor.netty.NettyServerCustomizer;
import org.springframework.stereotype.Component;
import reactor.netty.http.server.HttpServer;

/**
 * A client that asks to change to HTTP/2 with a request that has a body is answered in HTTP/1.1, as
 * RFC 7540 allows. Netty would collect that body first, which counts nowhere and is refused above a
 * few bytes; and the JDK's client asks with every first request. With one that has no body, or with
 * prior knowledge, the connection changes.
 */
@Component
@Sharable
final class H2cUpgradeGuard extends ChannelInboundHandlerAdapter implements NettyServerCustomizer {

  @Override
  public HttpServer apply(HttpServer server) {
    return server.doOnChannelInit(
        (_, channel, _) -> {
          var pipeline = channel.pipeline();
          var upgrade = pipeline.context(HttpServerUpgradeHandler.class);
          if (upgrade != null) {
            pipeline.addBefore(upgrade.name(), "sluice-h2c-upgrade-guard", this);
          }
        });
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    if (message instanceof HttpRequest request && hasBody(request)) {
      request.headers().remove(HttpHeaderNames.UPGRADE);
    }
    context.fireChannelRead(message);
  }

  private static boolean hasBody(HttpRequest request) {
    var length = request.headers().get(HttpHeaderNames.CONTENT_LENGTH);
    return request.headers().contains(HttpHeaderNames.TRANSFER_ENCODING)
        || length != null && !length.equals("0");
  }
}
