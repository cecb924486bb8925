package dev.sluice.bench;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;

/**
 * The backlog of a spool with one shard, queried from Redis without the gateway.
 *
 * @param entries the number of stream entries
 * @param pending the number of entries that are delivered and not acknowledged
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

  /** Parses the replies, in which the two values are the only integers. */
  static SpoolBacklog parse(String reply) throws IOException {
    var numbers = reply.lines().filter(line -> line.startsWith(":")).toList();
    if (numbers.size() != 2) {
      throw new IOException("Redis returned no stream length or pending count: " + reply);
    }
    return new SpoolBacklog(number(numbers.get(0)), number(numbers.get(1)));
  }

  private static long number(String line) {
    return Long.parseLong(line.substring(1));
  }
}
