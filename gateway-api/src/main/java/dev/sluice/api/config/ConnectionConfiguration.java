package dev.sluice.api.config;

import dev.sluice.api.config.ProtocolServers.ProtocolServerFactory;
import dev.sluice.api.net.ConnectionLimits;
import dev.sluice.api.net.ServerConnections;
import dev.sluice.api.tls.StrictSslBundles;
import io.micrometer.core.instrument.MeterRegistry;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.ssl.SslBundleRegistrar;
import org.springframework.boot.reactor.netty.NettyReactiveWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** The wiring of the limits and timeouts of connections, and of TLS. */
@Configuration(proxyBeanMethods = false)
class ConnectionConfiguration {
  @Bean
  ServerConnections serverConnections(ConnectionProperties properties, MeterRegistry registry) {
    return new ServerConnections(
        properties.requestHeadTimeout(), properties.idleTimeout(), registry);
  }

  /** Protects the main server and those of {@link ProtocolServers}, each with its own limits. */
  @Bean
  WebServerFactoryCustomizer<NettyReactiveWebServerFactory> httpConnections(
      ServerConnections connections, ConnectionProperties properties) {
    return factory -> {
      var name = factory instanceof ProtocolServerFactory protocol ? protocol.name() : "http";
      factory.addServerCustomizers(
          server -> connections.protect(server, name, properties.limits()));
    };
  }

  /** The limits of the management server, which has its own application context. */
  @Bean
  ConnectionLimits managementLimits(ConnectionProperties properties) {
    return properties.managementLimits();
  }

  /** Replaces the registry of Spring Boot; the bundles are those of its settings. */
  @Bean
  StrictSslBundles sslBundles(ObjectProvider<SslBundleRegistrar> registrars) {
    var bundles = new StrictSslBundles();
    registrars.orderedStream().forEach(registrar -> registrar.registerBundles(bundles));
    return bundles;
  }
}
