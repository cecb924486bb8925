package dev.sluice.engines;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/**
 * Checks whether the Redis on a loopback port accepts the password of this engine and has loaded
 * its data.
 */
final class RedisPing {

  private static final int TIMEOUT_MILLIS = 1000;

  private RedisPing() {}

  static boolean isReady(int port, String password) {
    try (Socket socket = new Socket()) {
      socket.setSoTimeout(TIMEOUT_MILLIS);
      socket.connect(
          new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), port), TIMEOUT_MILLIS);
      socket
          .getOutputStream()
          .write(("AUTH " + password + "\r\nPING\r\n").getBytes(StandardCharsets.US_ASCII));
      BufferedReader lines =
          new BufferedReader(
              new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
      // a Redis that loads its data responds to PING with -LOADING
      return "+OK".equals(lines.readLine()) && "+PONG".equals(lines.readLine());
    } catch (IOException _) {
      return false;
    }
  }
}
