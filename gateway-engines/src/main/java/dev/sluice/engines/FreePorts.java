package dev.sluice.engines;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;

/** Loopback ports, tried out before an engine is. */
final class FreePorts {

  private FreePorts() {}

  /**
   * The port itself when it is free, or any free one for 0.
   *
   * @throws EngineStartException when it is taken, naming the property by which to choose another
   */
  static int allocate(int port, String property) {
    try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.ofLiteral("127.0.0.1"))) {
      return socket.getLocalPort();
    } catch (IOException e) {
      if (port == 0) {
        throw new UncheckedIOException(e);
      }
      throw new EngineStartException(
          "port %d is taken; set %s to a free one".formatted(port, property), e);
    }
  }
}
