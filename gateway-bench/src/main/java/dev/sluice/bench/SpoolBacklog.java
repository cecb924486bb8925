package dev.sluice.bench;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;

/**
 * What waits in the spool of one shard, as Redis says it, past the gateway.
 *
 * @param entries of the stream
 * @param pending of these, handed out and not settled
 */
record SpoolBacklog(long entries, long pending) {
  private static final String STREAM = "{sluice:0}:logs";
  private static final String GROUP = "sluice";

  static SpoolBacklog query(int port, String password) throws IOException {
    try (var socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      var commands =
          "AUTH %s\r\nXLEN %s\r\nXPENDING %s %s\r\nQUIT\r\n"
              .formatted(password, STREAM, STREAM, GROUP);
      socket.getOutputStream().write(commands.getBytes(US_ASCII));
      return parse(new String(socket.getInputStream().readAllBytes(), US_ASCII));
    }
  }

  /** Of all that is answered the two are the only numbers. */
  static SpoolBacklog parse(String reply) throws IOException {
    var numbers = reply.lines().filter(line -> line.startsWith(":")).toList();
    if (numbers.size() != 2) {
      throw new IOException("Redis does not say what is in its stream: " + reply);
    }
    return new SpoolBacklog(number(numbers.get(0)), number(numbers.get(1)));
  }

  private static long number(String line) {
    return Long.parseLong(line.substring(1));
  }
}
