package dev.sluice.api.boot;

import io.netty.channel.group.DefaultChannelGroup;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.web.server.WebServerException;
import org.springframework.context.SmartLifecycle;
import org.springframework.http.server.reactive.ReactorHttpHandlerAdapter;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.netty.ChannelBindException;
import reactor.netty.DisposableServer;
import reactor.netty.http.server.HttpServer;

/** OTLP over HTTP on a port of its own, where OpenTelemetry SDKs look for it. */
final class OtlpHttpPort implements SmartLifecycle {
  private static final Duration GRACE = Duration.ofSeconds(10);

  private final @Nullable String address;
  private final int port;
  private final RouterFunction<ServerResponse> routes;
  private volatile @Nullable DisposableServer server;

  /**
   * @param address to listen on; null for all
   * @param port 0 for any free one, -1 for none
   */
  OtlpHttpPort(@Nullable String address, int port, RouterFunction<ServerResponse> routes) {
    this.address = address;
    this.port = port;
    this.routes = routes;
  }

  @Override
  public void start() {
    if (port < 0) {
      return;
    }
    // with a group of its channels the server lets requests in hand end before it is gone
    var http =
        HttpServer.create()
            .port(port)
            .channelGroup(new DefaultChannelGroup(GlobalEventExecutor.INSTANCE));
    if (address != null) {
      http = http.host(address);
    }
    try {
      server =
          http.handle(new ReactorHttpHandlerAdapter(RouterFunctions.toHttpHandler(routes)))
              .bindNow();
    } catch (ChannelBindException e) {
      throw new WebServerException(
          "port " + port + " is taken; set sluice.ingest.otlp-http-port", e);
    }
  }

  /** The bound port; -1 while there is none. */
  int port() {
    var running = server;
    return running == null ? -1 : running.port();
  }

  @Override
  public void stop() {
    var running = server;
    server = null;
    if (running != null) {
      running.disposeNow(GRACE);
    }
  }

  @Override
  public boolean isRunning() {
    return server != null;
  }
}
