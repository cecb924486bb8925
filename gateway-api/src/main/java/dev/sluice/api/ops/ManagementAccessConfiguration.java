package dev.sluice.api.ops;

import dev.sluice.api.http.ManagementAccessFilter;
import dev.sluice.api.security.AccessControl;
import org.springframework.boot.actuate.autoconfigure.endpoint.web.WebEndpointProperties;
import org.springframework.boot.actuate.autoconfigure.web.ManagementContextConfiguration;
import org.springframework.boot.actuate.autoconfigure.web.server.ManagementPortType;
import org.springframework.context.annotation.Bean;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.core.env.Environment;
import org.springframework.web.server.WebFilter;

/** The wiring of access control of the management endpoints, wherever they are served. */
@ManagementContextConfiguration(proxyBeanMethods = false)
class ManagementAccessConfiguration {
  @Bean
  @Order(Ordered.LOWEST_PRECEDENCE) // after the check of the host
  WebFilter managementAccessFilter(
      AccessControl access, WebEndpointProperties endpoints, Environment environment) {
    boolean ownPort = ManagementPortType.get(environment) == ManagementPortType.DIFFERENT;
    return new ManagementAccessFilter(access, endpoints.getBasePath(), ownPort);
  }
}
