package dev.sluice.api.http;

import dev.sluice.api.security.AccessRule;
import java.util.function.BiFunction;
import java.util.function.Function;
import org.springframework.web.reactive.function.server.HandlerFunction;
import org.springframework.web.reactive.function.server.RouterFunction;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Mono;

/**
 * A handler with its access rule. The {@link RequestContextFilter} denies requests to a handler of
 * any other class: a route that states no rule is closed.
 *
 * @param rule the clients that may use the handler
 * @param handler the handler of permitted requests
 * @param denial formats the response to other requests, as the errors of the same path
 */
public record RestrictedHandler(
    AccessRule rule,
    HandlerFunction<ServerResponse> handler,
    BiFunction<ServerRequest, HttpProblemException, Mono<ServerResponse>> denial)
    implements HandlerFunction<ServerResponse> {

  /** Returns a handler whose errors are problem details. */
  static RestrictedHandler of(AccessRule rule, HandlerFunction<ServerResponse> handler) {
    return new RestrictedHandler(rule, handler, (_, problem) -> Problem.of(problem));
  }

  /** Returns the handler of a query. */
  static RestrictedHandler query(HandlerFunction<ServerResponse> handler) {
    return of(AccessRule.READ, handler);
  }

  /** Returns the handler of a query with errors in the format of a protocol. */
  public static RestrictedHandler query(
      HandlerFunction<ServerResponse> handler,
      Function<HttpProblemException, Mono<ServerResponse>> errors) {
    return new RestrictedHandler(AccessRule.READ, handler, (_, problem) -> errors.apply(problem));
  }

  /** Returns the handler of a page without data of a tenant. */
  static RestrictedHandler page(HandlerFunction<ServerResponse> handler) {
    return of(AccessRule.AUTHENTICATED, handler);
  }

  /** Returns routes of pages whose handlers state no rule. */
  static RouterFunction<ServerResponse> pages(RouterFunction<ServerResponse> routes) {
    return request -> routes.route(request).map(RestrictedHandler::page);
  }

  @Override
  public Mono<ServerResponse> handle(ServerRequest request) {
    return handler.handle(request);
  }
}
