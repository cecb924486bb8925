package dev.sluice.api.net;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import reactor.netty.http.server.HttpServer;

/** Applies the limits and timeouts of connections to servers. Thread-safe. */
public final class ServerConnections {
  private final Duration headTimeout;
  private final Duration idleTimeout;
  private final MeterRegistry registry;

  /**
   * @param headTimeout time from the start of a connection, or from the first byte of a later
   *     request, until the request head is complete
   * @param idleTimeout time between two requests
   */
  public ServerConnections(Duration headTimeout, Duration idleTimeout, MeterRegistry registry) {
    this.headTimeout = headTimeout;
    this.idleTimeout = idleTimeout;
    this.registry = registry;
  }

  /** Creates the limiter of a server; it must be a handler of the server channel. */
  public ConnectionLimiter createLimiter(String server, ConnectionLimits limits) {
    return new ConnectionLimiter(server, limits, registry, System::nanoTime);
  }

  /** Returns the HTTP server with limits and timeouts. */
  public HttpServer protect(HttpServer http, String server, ConnectionLimits limits) {
    var limiter = createLimiter(server, limits);
    var headTimeouts = timeouts(server, "request-head");
    var idleTimeouts = timeouts(server, "idle");
    return http.doOnBound(bound -> bound.channel().pipeline().addFirst(limiter))
        .doOnChannelInit(
            (_, channel, _) ->
                channel
                    .pipeline()
                    .addFirst(
                        new RequestTimeoutHandler(
                            headTimeout, idleTimeout, headTimeouts, idleTimeouts)))
        .childObserve(RequestTimeoutHandler::onStateChange);
  }

  private Counter timeouts(String server, String timeout) {
    return Counter.builder("sluice.connections.timeouts")
        .description("Connections closed because no request came in time")
        .tag("server", server)
        .tag("timeout", timeout)
        .register(registry);
  }
}
