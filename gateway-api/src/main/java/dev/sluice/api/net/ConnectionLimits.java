package dev.sluice.api.net;

/**
 * The limits of one server.
 *
 * @param maxConnections connections in all, at least 1
 * @param maxConnectionsPerAddress connections from one remote address, at least 1
 */
public record ConnectionLimits(int maxConnections, int maxConnectionsPerAddress) {}
