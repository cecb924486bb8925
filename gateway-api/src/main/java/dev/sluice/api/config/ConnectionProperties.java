package dev.sluice.api.config;

import com.sun.management.UnixOperatingSystemMXBean;
import dev.sluice.api.net.ConnectionLimits;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Limits and timeouts of client connections. A connection above a limit is closed at once.
 *
 * @param maxPerPort connections of each of the HTTP, OTLP/HTTP and gRPC ports; 0 means a fifth of
 *     the files that the process may open, at most 10000
 * @param maxPerAddress connections of one of these ports from one remote address, which is that of
 *     a load balancer when there is one, or from one IPv6 /64 network; 0 means a quarter of {@code
 *     sluice.connections.max-per-port}
 * @param maxManagement connections of the management port, and half of it from one remote address;
 *     at least 2
 * @param requestHeadTimeout time from the start of a connection until its first request head is
 *     complete, and of HTTP/1.1 from the first byte of each head; with TLS it includes the
 *     handshake
 * @param idleTimeout time that a connection may have no request in progress
 * @param maxStreamResets resets of gRPC calls on one connection in 30 seconds, such as calls that
 *     the client cancels; above it the gateway closes the connection
 */
@ConfigurationProperties("sluice.connections")
record ConnectionProperties(
    @DefaultValue("0") int maxPerPort,
    @DefaultValue("0") int maxPerAddress,
    @DefaultValue("100") int maxManagement,
    @DefaultValue("10s") Duration requestHeadTimeout,
    @DefaultValue("2m") Duration idleTimeout,
    @DefaultValue("1000") int maxStreamResets) {
  private static final int MAX_DEFAULT = 10_000;

  /** The file limit of a process where the JDK does not know it. */
  private static final int ASSUMED_MAX_FILES = 4096;

  ConnectionProperties {
    requireNotNegative("sluice.connections.max-per-port", maxPerPort);
    requireNotNegative("sluice.connections.max-per-address", maxPerAddress);
    PropertyChecks.requireBetween(
        "sluice.connections.max-management", maxManagement, 2, Integer.MAX_VALUE);
    PropertyChecks.requirePositive("sluice.connections.request-head-timeout", requestHeadTimeout);
    PropertyChecks.requirePositive("sluice.connections.idle-timeout", idleTimeout);
    PropertyChecks.requirePositive("sluice.connections.max-stream-resets", maxStreamResets);
    maxPerPort = maxPerPort == 0 ? Math.clamp(maxFiles() / 5, 1, MAX_DEFAULT) : maxPerPort;
    maxPerAddress = maxPerAddress == 0 ? Math.max(1, maxPerPort / 4) : maxPerAddress;
  }

  private static void requireNotNegative(String key, int value) {
    if (value < 0) {
      throw new IllegalArgumentException(key + " is " + value + ", must not be negative");
    }
  }

  private static long maxFiles() {
    return ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean unix
        ? unix.getMaxFileDescriptorCount()
        : ASSUMED_MAX_FILES;
  }

  ConnectionLimits limits() {
    return new ConnectionLimits(maxPerPort, maxPerAddress);
  }

  ConnectionLimits managementLimits() {
    return new ConnectionLimits(maxManagement, maxManagement / 2);
  }
}
