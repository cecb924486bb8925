package dev.sluice.api.ops;

import dev.sluice.api.http.RequestGuard;
import dev.sluice.api.net.ConnectionLimits;
import dev.sluice.api.net.ServerConnections;
import java.time.Duration;
import org.springframework.boot.actuate.autoconfigure.web.ManagementContextConfiguration;
import org.springframework.boot.actuate.autoconfigure.web.ManagementContextType;
import org.springframework.boot.reactor.netty.NettyReactiveWebServerFactory;
import org.springframework.boot.web.server.WebServerFactoryCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.web.server.WebFilter;
import reactor.netty.resources.LoopResources;

/**
 * The wiring of the management server in its own application context. The server has its own limits
 * of connections and its own event loop, so that it responds while clients exhaust the other ports.
 */
@ManagementContextConfiguration(value = ManagementContextType.CHILD, proxyBeanMethods = false)
class ManagementServerConfiguration {
  private static final Duration REQUEST_TIMEOUT = Duration.ofSeconds(30);

  @Bean(destroyMethod = "dispose")
  LoopResources managementLoops() {
    return LoopResources.create("management", 1, true);
  }

  @Bean
  WebServerFactoryCustomizer<NettyReactiveWebServerFactory> managementConnections(
      ServerConnections connections,
      ConnectionLimits managementLimits,
      LoopResources managementLoops) {
    return factory ->
        factory.addServerCustomizers(
            server ->
                connections
                    .protect(server, "management", managementLimits)
                    .runOn(managementLoops)
                    .requestTimeout(REQUEST_TIMEOUT));
  }

  @Bean
  WebFilter requestGuardFilter(RequestGuard guard) {
    return guard::filterManagement;
  }
}
