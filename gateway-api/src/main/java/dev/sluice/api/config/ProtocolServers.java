package dev.sluice.api.config;

import dev.sluice.api.protocol.ProtocolRegistration.ProtocolPort;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
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
 * The servers of protocols on ports of their own. Except for the port they have the {@code
 * server.*} settings of the main server: the same address and certificate.
 */
final class ProtocolServers implements SmartLifecycle {
  private static final Duration SHUTDOWN_TIMEOUT = Duration.ofSeconds(10);

  private final BeanFactory beans;
  private final List<ProtocolServer> configured;
  private volatile List<WebServer> running = List.of();

  /** A port and its routes. */
  record ProtocolServer(ProtocolPort port, RouterFunction<ServerResponse> routes) {}

  /** A factory whose customizers can know the server. */
  static final class ProtocolServerFactory extends NettyReactiveWebServerFactory {
    private final String name;

    private ProtocolServerFactory(String name) {
      this.name = name;
    }

    String name() {
      return name;
    }
  }

  /**
   * @param beans the source of the customizers of the main server
   */
  ProtocolServers(BeanFactory beans, List<ProtocolServer> servers) {
    this.beans = beans;
    this.configured = servers.stream().filter(server -> server.port().number() >= 0).toList();
  }

  @Override
  public void start() {
    var started = new ArrayList<WebServer>();
    for (var server : configured) {
      started.add(start(server));
      running = List.copyOf(started);
    }
  }

  private WebServer start(ProtocolServer server) {
    int port = server.port().number();
    var starting =
        createServerFactory(server).getWebServer(RouterFunctions.toHttpHandler(server.routes()));
    try {
      starting.start();
    } catch (PortInUseException e) {
      // only the cause: with PortInUseException Boot would name the port and not the setting
      throw new WebServerException(
          "port " + port + " is in use; set " + server.port().setting(), e.getCause());
    }
    return starting;
  }

  /** Creates a factory that is not a bean: with two factory beans Boot starts no main server. */
  private NettyReactiveWebServerFactory createServerFactory(ProtocolServer server) {
    var factory = new ProtocolServerFactory(server.port().serverName());
    factory.setResourceFactory(beans.getBean(ReactorResourceFactory.class));
    beans
        .getBeanProvider(NettyServerCustomizer.class)
        .orderedStream()
        .forEach(factory::addServerCustomizers);
    var settings = new WebServerFactoryCustomizerBeanPostProcessor();
    settings.setBeanFactory(beans);
    settings.postProcessBeforeInitialization(factory, "protocolServers");
    factory.setPort(server.port().number());
    factory.setCompression(null); // all responses are short
    factory.setShutdown(Shutdown.IMMEDIATE); // requests in flight still get the lifecycle timeout
    factory.setLifecycleTimeout(SHUTDOWN_TIMEOUT);
    return factory;
  }

  /** Returns the bound ports, in the order of the servers that have one. */
  List<Integer> ports() {
    return running.stream().map(WebServer::getPort).toList();
  }

  @Override
  public void stop() {
    var servers = running;
    running = List.of();
    servers.forEach(WebServer::stop);
  }

  @Override
  public boolean isRunning() {
    return !running.isEmpty();
  }
}
