package dev.sluice.api.net;

import dev.sluice.core.ingest.LogRateLimit;
import dev.sluice.core.security.ClientNetwork;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Limits the connections of one server, in all and per remote address. It is a handler of the
 * server channel and closes a connection above a limit at once: before TLS, and before the
 * connection gets an event loop.
 *
 * <p>All addresses of an IPv6 /64 network count as one, because a single client can use them all.
 *
 * <p>Thread-safe.
 */
@Sharable
public final class ConnectionLimiter extends ChannelInboundHandlerAdapter {
  private static final Logger LOG = LoggerFactory.getLogger(ConnectionLimiter.class);
  private static final Duration LOG_INTERVAL = Duration.ofSeconds(10);

  private final String server;
  private final ConnectionLimits limits;
  private final LogRateLimit logRateLimit;
  private final Counter refusedByTotal;
  private final Counter refusedByAddress;
  private final AtomicInteger connections = new AtomicInteger();
  private final Map<Object, Integer> connectionsByAddress = new ConcurrentHashMap<>();
  private final AtomicLong refusedSinceLog = new AtomicLong();

  /**
   * Creates the limiter and its meters.
   *
   * @param server the name of the server in metrics and log lines, such as {@code http}
   * @param nanoTime the clock of the log lines
   */
  public ConnectionLimiter(
      String server, ConnectionLimits limits, MeterRegistry registry, LongSupplier nanoTime) {
    this.server = server;
    this.limits = limits;
    this.logRateLimit = new LogRateLimit(LOG_INTERVAL, nanoTime);
    refusedByTotal = refused(registry, "total");
    refusedByAddress = refused(registry, "address");
    Gauge.builder("sluice.connections.open", connections, AtomicInteger::get)
        .description("Open connections")
        .tag("server", server)
        .register(registry);
  }

  private Counter refused(MeterRegistry registry, String limit) {
    return Counter.builder("sluice.connections.refused")
        .description("Connections closed at once because of a limit")
        .tag("server", server)
        .tag("limit", limit)
        .register(registry);
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    var connection = (Channel) message;
    if (connections.incrementAndGet() > limits.maxConnections()) {
      connections.decrementAndGet();
      refuse(connection, refusedByTotal);
      return;
    }
    var address = key(connection.remoteAddress());
    if (connectionsByAddress.merge(address, 1, Integer::sum) > limits.maxConnectionsPerAddress()) {
      release(address);
      refuse(connection, refusedByAddress);
      return;
    }
    connection.closeFuture().addListener(_ -> release(address));
    context.fireChannelRead(message);
  }

  private void release(Object address) {
    connectionsByAddress.computeIfPresent(address, (_, count) -> count > 1 ? count - 1 : null);
    connections.decrementAndGet();
  }

  private void refuse(Channel connection, Counter counter) {
    var remote = connection.remoteAddress();
    counter.increment();
    connection.unsafe().closeForcibly();
    refusedSinceLog.incrementAndGet();
    if (logRateLimit.tryAcquire()) {
      LOG.warn(
          "server {}: connection from {} refused: {}; {} refused since the last line",
          server,
          remote,
          counter == refusedByTotal
              ? "the server has " + limits.maxConnections() + " connections, its limit"
              : "its address has " + limits.maxConnectionsPerAddress() + " connections, the limit",
          refusedSinceLog.getAndSet(0));
    }
  }

  private static Object key(SocketAddress remote) {
    if (!(remote instanceof InetSocketAddress address) || address.getAddress() == null) {
      return remote;
    }
    return ClientNetwork.of(address.getAddress());
  }
}
