package dev.sluice.api.config;

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
 * A handler that ignores the upgrade to HTTP/2 (h2c) in a request with a body, as RFC 7540 allows:
 * the response is HTTP/1.1. For an upgrade Netty buffers the body first, outside the memory budget,
 * and rejects all but small bodies; the JDK's client sends the upgrade in every first request. A
 * request without a body upgrades the connection, and so does prior knowledge.
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
