package dev.sluice.core.security;

import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;

/**
 * The network of a client, by which limits count clients: its IPv4 address, or its IPv6 /64
 * network, because a single client can use all addresses of it.
 *
 * @param address the address, with zeros after the first 64 bits of an IPv6 address
 */
public record ClientNetwork(InetAddress address) {
  private static final int IPV6_NETWORK_BYTES = 8;

  /** The network of a client whose address is unknown. */
  public static final ClientNetwork UNKNOWN = new ClientNetwork(InetAddress.ofLiteral("0.0.0.0"));

  /** Returns the network of an address. */
  public static ClientNetwork of(InetAddress address) {
    if (!(address instanceof Inet6Address)) {
      return new ClientNetwork(address);
    }
    var bytes = address.getAddress();
    Arrays.fill(bytes, IPV6_NETWORK_BYTES, bytes.length, (byte) 0);
    try {
      return new ClientNetwork(InetAddress.getByAddress(bytes));
    } catch (UnknownHostException e) {
      throw new IllegalStateException("only a wrong number of bytes causes it", e);
    }
  }
}
