package dev.sluice.api.boot;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.boot.reactor.netty.NettyReactiveWebServerFactory;
import org.springframework.boot.reactor.netty.NettyServerCustomizer;
import org.springframework.boot.web.server.PortInUseException;
import org.springframework.boot.web.server.Shutdown;
import org.springframework.boot.web.server.WebServer;
import org.springframework.boot.web.server.WebServerException;
import org.springframework.boot.web.server.WebServerFactoryCustomizerBeanPostProcessor;
import org.springframework.context.SmartLifecycle;
import org.springframework.http.client.ReactorResourceFactory;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.RouterFunctions;
import org.springframework.web.reactive.function.server.ServerResponse;

/**
 * OTLP over HTTP on a port of its own, where OpenTelemetry SDKs look for it. But for the port it is
 * made as the first one is, of the same {@code server.*} settings: one address, one certificate.
 */
final class OtlpHttpServer implements SmartLifecycle {
  private static final Duration SHUTDOWN_TIMEOUT = Duration.ofSeconds(10);

  private final BeanFactory beans;
  private final int port;
  private final RouterFunction<ServerResponse> routes;
  private volatile @Nullable WebServer server;

  /**
   * @param beans where those who configure the first port are found
   * @param port 0 for any free one, -1 for none
   */
  OtlpHttpServer(BeanFactory beans, int port, RouterFunction<ServerResponse> routes) {
    this.beans = beans;
    this.port = port;
    this.routes = routes;
  }

  @Override
  public void start() {
    if (port < 0) {
      return;
    }
    var starting = createServerFactory().getWebServer(RouterFunctions.toHttpHandler(routes));
    try {
      starting.start();
    } catch (PortInUseException e) {
      // its cause alone, or Boot would explain the port and not the setting
      throw new WebServerException(
          "port " + port + " is taken; set sluice.ingest.otlp-http-port", e.getCause());
    }
    server = starting;
  }

  /** By hand: a second factory among the beans would leave Boot without the first server. */
  private NettyReactiveWebServerFactory createServerFactory() {
    var factory = new NettyReactiveWebServerFactory();
    factory.setResourceFactory(beans.getBean(ReactorResourceFactory.class));
    beans
        .getBeanProvider(NettyServerCustomizer.class)
        .orderedStream()
        .forEach(factory::addServerCustomizers);
    var settings = new WebServerFactoryCustomizerBeanPostProcessor();
    settings.setBeanFactory(beans);
    settings.postProcessBeforeInitialization(factory, "otlpHttpServer");
    factory.setPort(port);
    factory.setCompression(null); // all answers here are short
    factory.setShutdown(Shutdown.IMMEDIATE); // which lets requests in hand end, for a while
    factory.setLifecycleTimeout(SHUTDOWN_TIMEOUT);
    return factory;
  }

  /** The bound port; -1 while there is none. */
  int port() {
    var running = server;
    return running == null ? -1 : running.getPort();
  }

  @Override
  public void stop() {
    var running = server;
    server = null;
    if (running != null) {
      running.stop();
    }
  }

  @Override
  public boolean isRunning() {
    return server != null;
  }
}
