package dev.sluice.api.http;

import dev.sluice.api.security.AccessControl;
import dev.sluice.api.security.AccessControl.Transport;
import dev.sluice.api.security.AccessDecision.Denied;
import dev.sluice.api.security.AccessDecision.Granted;
import dev.sluice.core.ingest.RequestContext;
import dev.sluice.query.read.QueryClient;
import java.net.InetSocketAddress;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpHeaders;
import org.springframework.web.reactive.function.server.HandlerFunction;
import org.springframework.web.reactive.function.server.ServerRequest;
import org.springframework.web.reactive.function.server.ServerResponse;
import reactor.core.publisher.Mono;
import reactor.util.context.ContextView;

/**
 * The filter that authenticates the client of every HTTP request and creates the {@link
 * RequestContext}. No other class of HTTP creates one. A denied request is answered before its body
 * is read.
 */
public final class RequestContextFilter {
  private static final String CONTEXT_ATTRIBUTE = RequestContext.class.getName();
  private static final String QUERY_PROTOCOL = "http-query";

  private final AccessControl access;

  RequestContextFilter(AccessControl access) {
    this.access = access;
  }

  /** Returns the context of a request without the options of ingest. */
  public static RequestContext contextOf(ServerRequest request) {
    return (RequestContext) Objects.requireNonNull(request.attributes().get(CONTEXT_ATTRIBUTE));
  }

  /** Returns the name of the client of a filtered request, for its queries. */
  static String queryClientOf(ContextView context) {
    return Objects.requireNonNull(context.getOrDefault(QueryClient.class, ""));
  }

  /** Filters the requests of all routes. */
  Mono<ServerResponse> filter(ServerRequest request, HandlerFunction<ServerResponse> handler) {
    var restricted = handler instanceof RestrictedHandler known ? known : null;
    var decision =
        access.check(
            restricted == null ? null : restricted.rule(),
            request.headers().header(HttpHeaders.AUTHORIZATION),
            request.remoteAddress().orElse(null),
            Transport.HTTP);
    return switch (decision) {
      case Granted granted -> {
        request
            .attributes()
            .put(
                CONTEXT_ATTRIBUTE,
                RequestContext.of(granted.tenant(), granted.principal(), QUERY_PROTOCOL));
        var address = request.remoteAddress().map(InetSocketAddress::getAddress).orElse(null);
        var client = QueryClient.name(granted.tenant(), address);
        yield handler
            .handle(request)
            .contextWrite(context -> context.put(QueryClient.class, client));
      }
      case Denied denied -> {
        var problem = HttpProblemException.denied(denied);
        yield restricted == null
            ? Problem.of(problem)
            : restricted.denial().apply(request, problem);
      }
    };
  }

  /**
   * Returns the context of a filtered request with the options of ingest: its headers may have an
   * acknowledgement level and an idempotency key.
   *
   * @throws HttpProblemException when a header is invalid or occurs more than once
   */
  static RequestContext createIngestContext(ServerRequest request, String protocol) {
    var client = contextOf(request);
    try {
      return RequestContext.of(
          client.tenant(),
          client.principal(),
          protocol,
          singleValue(request, RequestContext.ACK_HEADER),
          singleValue(request, RequestContext.IDEMPOTENCY_KEY_HEADER));
    } catch (IllegalArgumentException e) {
      throw HttpProblemException.malformed(String.valueOf(e.getMessage()));
    }
  }

  private static @Nullable String singleValue(ServerRequest request, String name) {
    var values = request.headers().header(name);
    if (values.size() > 1) {
      throw new IllegalArgumentException(name + " occurs more than once");
    }
    return values.isEmpty() ? null : values.getFirst();
  }
}
