package dev.sluice.api.http;

import java.util.Collection;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpMethod;
import org.springframework.http.server.reactive.ServerHttpRequest;
import org.springframework.http.server.reactive.ServerHttpResponse;
import org.springframework.web.reactive.function.server.HandlerFunction;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import org.springframework.web.server.ServerWebExchange;
import org.springframework.web.server.WebFilterChain;
import reactor.core.publisher.Mono;

/**
 * Protects the gateway from web pages in the browser of a user who can reach it. It refuses a
 * request to a host name that is not one of this gateway, which a page uses to pass its own origin
 * off as that of the gateway (DNS rebinding), and a request with an effect from another site. It
 * also adds the headers by which a browser treats responses safely.
 *
 * <p>Thread-safe.
 */
public final class RequestGuard {
  private static final String SEC_FETCH_SITE = "Sec-Fetch-Site";
  private static final String STRICT_TRANSPORT_SECURITY = "Strict-Transport-Security";
  private static final String ONE_YEAR = "max-age=31536000";
  private static final String ANY_HOST = "*";
  private static final Set<HttpMethod> SAFE_METHODS =
      Set.of(HttpMethod.GET, HttpMethod.HEAD, HttpMethod.OPTIONS);

  private final Set<String> allowedHosts;

  /**
   * @param allowedHosts host names of this gateway besides IP addresses and {@code localhost};
   *     {@code *} for any
   */
  public RequestGuard(Collection<String> allowedHosts) {
    this.allowedHosts =
        allowedHosts.stream()
            .map(host -> host.toLowerCase(Locale.ROOT))
            .collect(Collectors.toUnmodifiableSet());
  }

  /** Filters the requests of all routes: those from other sites that can have an effect. */
  public Mono<ServerResponse> filter(
      ServerRequest request, HandlerFunction<ServerResponse> handler) {
    var exchange = request.exchange();
    addResponseHeaders(exchange.getRequest(), exchange.getResponse());
    var problem = check(exchange.getRequest(), isSafe(request.method()));
    return problem == null
        ? handler.handle(request)
        : LingeringClose.filter(request, _ -> Problem.of(problem));
  }

  /** Filters the requests of the management server: all those from other sites. */
  public Mono<Void> filterManagement(ServerWebExchange exchange, WebFilterChain chain) {
    var response = exchange.getResponse();
    addResponseHeaders(exchange.getRequest(), response);
    var problem = check(exchange.getRequest(), false);
    return problem == null ? chain.filter(exchange) : Problem.write(problem, response);
  }

  private static boolean isSafe(HttpMethod method) {
    return SAFE_METHODS.contains(method);
  }

  private static void addResponseHeaders(ServerHttpRequest request, ServerHttpResponse response) {
    var headers = response.getHeaders();
    headers.set("X-Content-Type-Options", "nosniff");
    if ("https".equals(request.getURI().getScheme())) {
      headers.set(STRICT_TRANSPORT_SECURITY, ONE_YEAR);
    }
  }

  /** Returns the reason to refuse a request; null when there is none. */
  private @Nullable HttpProblemException check(
      ServerHttpRequest request, boolean crossSiteAllowed) {
    var headers = request.getHeaders();
    var host = headers.getFirst(HttpHeaders.HOST);
    if (host != null && !isAllowed(nameOf(host))) {
      return HttpProblemException.misdirected();
    }
    return !crossSiteAllowed && isCrossSite(headers, host)
        ? HttpProblemException.crossSite()
        : null;
  }

  private boolean isAllowed(String name) {
    return isIpAddress(name)
        || name.equals("localhost")
        || allowedHosts.contains(name)
        || allowedHosts.contains(ANY_HOST);
  }

  private boolean isCrossSite(HttpHeaders headers, @Nullable String host) {
    var origin = headers.getFirst(HttpHeaders.ORIGIN);
    if (origin != null) {
      int authority = origin.indexOf("://") + 3;
      // "null" is the origin of a page that hides its own
      return authority < 3
          || !origin.substring(authority).equalsIgnoreCase(host)
              && !allowedHosts.contains(nameOf(origin.substring(authority)));
    }
    return "cross-site".equals(headers.getFirst(SEC_FETCH_SITE));
  }

  /** Returns the name in lower case, without the port and the dot of the root. */
  private static String nameOf(String authority) {
    int end = authority.startsWith("[") ? authority.indexOf(']') + 1 : authority.indexOf(':');
    var name = end > 0 ? authority.substring(0, end) : authority;
    return (name.endsWith(".") ? name.substring(0, name.length() - 1) : name)
        .toLowerCase(Locale.ROOT);
  }

  /** Whether the name has only digits and dots, as no top-level domain has, or is in brackets. */
  private static boolean isIpAddress(String name) {
    if (name.startsWith("[")) {
      return true;
    }
    for (int i = 0; i < name.length(); i++) {
      char c = name.charAt(i);
      if (c != '.' && (c < '0' || c > '9')) {
        return false;
      }
    }
    return !name.isEmpty();
  }
}
