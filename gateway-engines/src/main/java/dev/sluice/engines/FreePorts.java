package dev.sluice.engines;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;

/** Checks and allocates loopback ports before an engine starts. */
final class FreePorts {

  private FreePorts() {}

  /**
   * Returns the port itself when it is free, or any free port for 0.
   *
   * @throws EngineStartException when the port is in use; the message names the property that sets
   *     it
   */
  static int allocate(int port, String property) {
    try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.ofLiteral("127.0.0.1"))) {
      return socket.getLocalPort();
    } catch (IOException e) {
      if (port == 0) {
        throw new UncheckedIOException(e);
      }
      throw new EngineStartException(
          "port %d is in use; set %s to a free port".formatted(port, property), e);
    }
  }
}
