package dev.sluice.api.http;

import dev.sluice.api.security.AccessControl;
import dev.sluice.api.security.AccessControl.Transport;
import dev.sluice.api.security.AccessDecision.Denied;
import dev.sluice.api.security.AccessRule;
import org.springframework.http.HttpHeaders;
import org.springframework.http.server.PathContainer;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilter;
import org.springframework.web.server.WebFilterChain;
import org.springframework.web.util.pattern.PathPattern;
import org.springframework.web.util.pattern.PathPatternParser;
import reactor.core.publisher.Mono;

/**
 * Permits all clients to read health, and operators to use the other management endpoints. It
 * decides by the path before an endpoint is chosen, so that a new endpoint is closed too.
 */
public final class ManagementAccessFilter implements WebFilter {
  private final AccessControl access;
  private final PathPattern endpoints;
  private final PathPattern health;
  private final boolean ownPort;

  /**
   * @param basePath the path of all endpoints, such as {@code /actuator}
   * @param ownPort whether the server has no other routes; if it has, they decide by themselves
   */
  public ManagementAccessFilter(AccessControl access, String basePath, boolean ownPort) {
    this.access = access;
    this.ownPort = ownPort;
    endpoints = PathPatternParser.defaultInstance.parse(basePath + "/**");
    health = PathPatternParser.defaultInstance.parse(basePath + "/health/**");
  }

  @Override
  public Mono<Void> filter(ServerWebExchange exchange, WebFilterChain chain) {
    var request = exchange.getRequest();
    var path = request.getPath().pathWithinApplication();
    if (!ownPort && !endpoints.matches(path)) {
      return chain.filter(exchange);
    }
    var decision =
        access.check(
            isHealth(path) ? AccessRule.PUBLIC : AccessRule.ADMIN,
            request.getHeaders().getOrEmpty(HttpHeaders.AUTHORIZATION),
            request.getRemoteAddress(),
            Transport.MANAGEMENT);
    return decision instanceof Denied denied
        ? Problem.write(HttpProblemException.denied(denied), exchange.getResponse())
        : chain.filter(exchange);
  }

  /** A path with dots could mean another endpoint to a server that resolves them. */
  private boolean isHealth(PathContainer path) {
    return health.matches(path) && !path.value().contains("..");
  }
}
