package dev.sluice.api.config;

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
 * The server of OTLP/HTTP on a second port, the default port of OpenTelemetry SDKs. Except for the
 * port it has the {@code server.*} settings of the main server: the same address and certificate.
 */
final class OtlpHttpServer implements SmartLifecycle {
  private static final Duration SHUTDOWN_TIMEOUT = Duration.ofSeconds(10);

  private final BeanFactory beans;
  private final int port;
  private final RouterFunction<ServerResponse> routes;
  private volatile @Nullable WebServer server;

  /**
   * @param beans the source of the customizers of the main server
   * @param port the port; 0 for any free port, -1 for no server
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
      // only the cause: with PortInUseException Boot would name the port and not the setting
      throw new WebServerException(
          "port " + port + " is in use; set sluice.ingest.otlp-http-port", e.getCause());
    }
    server = starting;
  }

  /** Creates a factory that is not a bean: with two factory beans Boot starts no main server. */
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
    factory.setCompression(null); // all responses are short
    factory.setShutdown(Shutdown.IMMEDIATE); // requests in flight still get the lifecycle timeout
    factory.setLifecycleTimeout(SHUTDOWN_TIMEOUT);
    return factory;
  }

  /** Returns the bound port; -1 while the server does not run. */
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
