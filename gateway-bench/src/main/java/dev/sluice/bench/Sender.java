package dev.sluice.bench;

import static java.nio.charset.StandardCharsets.US_ASCII;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;

/**
 * HTTP clients that post OTLP bodies over persistent connections. They need little CPU, because
 * they share the machine with the measured processes.
 */
final class Sender {
  private static final int MAX_HEADER_BYTES = 4096;

  private final int port;
  private final List<byte[]> bodies;
  private final String headers;
  private final AtomicInteger next = new AtomicInteger();
  private final LongAdder succeeded = new LongAdder();
  private final LongAdder failed = new LongAdder();

  /**
   * The result of a run.
   *
   * @param succeeded the number of requests with a success response
   * @param failed the number of requests without a success response
   * @param seconds the duration
   */
  record SendResult(long succeeded, long failed, double seconds) {}

  /**
   * Creates a sender.
   *
   * @param port the HTTP port of the gateway
   * @param bodies the bodies, sent in turn
   * @param headers additional headers, each ended by a line break, such as {@code sluice-ack:
   *     accepted\r\n}
   */
  Sender(int port, List<byte[]> bodies, String headers) {
    this.port = port;
    this.bodies = bodies;
    this.headers = headers;
  }

  /**
   * Sends for the given seconds.
   *
   * @param connections the number of connections
   * @param perSecond the requests per second over all connections; 0 for a closed loop
   */
  SendResult send(int connections, int seconds, double perSecond) throws InterruptedException {
    succeeded.reset();
    failed.reset();
    long startNanos = System.nanoTime();
    long end = startNanos + seconds * 1_000_000_000L;
    var clients = new ArrayList<Thread>();
    for (int i = 0; i < connections; i++) {
      long first = perSecond == 0 ? 0 : (long) (1e9 * i / perSecond);
      long interval = perSecond == 0 ? 0 : (long) (1e9 * connections / perSecond);
      clients.add(Thread.ofPlatform().start(() -> runClient(startNanos + first, interval, end)));
    }
    for (var client : clients) {
      client.join();
    }
    return new SendResult(succeeded.sum(), failed.sum(), (System.nanoTime() - startNanos) / 1e9);
  }

  private void runClient(long first, long interval, long end) {
    long due = first;
    while (System.nanoTime() < end) {
      try (var socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
        socket.setTcpNoDelay(true);
        var in = new BufferedInputStream(socket.getInputStream());
        while (System.nanoTime() < end) {
          for (long left = due - System.nanoTime(); left > 0; left = due - System.nanoTime()) {
            LockSupport.parkNanos(left);
          }
          due += interval;
          socket.getOutputStream().write(request());
          (readResponse(in) ? succeeded : failed).increment();
        }
      } catch (IOException _) {
        failed.increment();
      }
    }
  }

  private byte[] request() {
    byte[] body = bodies.get(Math.floorMod(next.getAndIncrement(), bodies.size()));
    byte[] head =
        ("POST /v1/logs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-protobuf\r\n"
                + headers
                + "Content-Length: "
                + body.length
                + "\r\n\r\n")
            .getBytes(US_ASCII);
    byte[] request = new byte[head.length + body.length];
    System.arraycopy(head, 0, request, 0, head.length);
    System.arraycopy(body, 0, request, head.length, body.length);
    return request;
  }

  /** Reads a response. Whether its status is 200. */
  private static boolean readResponse(InputStream in) throws IOException {
    var head = new StringBuilder(256);
    while (head.length() < MAX_HEADER_BYTES && head.indexOf("\r\n\r\n") < 0) {
      int next = in.read();
      if (next < 0) {
        throw new IOException("the connection ended");
      }
      head.append((char) next);
    }
    var lower = head.toString().toLowerCase(java.util.Locale.ROOT);
    int at = lower.indexOf("content-length:");
    if (at >= 0) {
      int length = Integer.parseInt(lower.substring(at + 15, lower.indexOf('\r', at)).strip());
      in.skipNBytes(length);
    }
    return lower.startsWith("http/1.1 200");
  }
}
