package dev.sluice.api.faults;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A TCP proxy between the gateway and one engine that injects faults on request. Thread-safe; its
 * port does not change.
 */
final class FaultInjectingProxy implements AutoCloseable {
  private static final int CHUNK = 64 << 10;
  private static final int SLOW_CHUNK = 4 << 10;

  private final ServerSocket server;
  private final int target;
  private final Set<Socket> open = ConcurrentHashMap.newKeySet();
  private final AtomicInteger pendingDrops = new AtomicInteger();
  private final AtomicInteger droppedResponses = new AtomicInteger();
  private final AtomicLong bytesSent = new AtomicLong();
  private final AtomicLong nextFreeNanos = new AtomicLong(System.nanoTime());
  private volatile @Nullable Pattern responsePattern;
  private volatile String extraParameters = "";
  private volatile long bytesPerSecond; // 0 means unlimited
  private volatile boolean partitioned;
  private volatile boolean partitionAfterDrop;

  /**
   * Starts a proxy.
   *
   * @param target the loopback port of the engine
   */
  FaultInjectingProxy(int target) throws IOException {
    this.target = target;
    this.server = new ServerSocket(0, 64, InetAddress.getLoopbackAddress());
    Thread.ofVirtual().name("wire-" + target).start(this::accept);
  }

  int port() {
    return server.getLocalPort();
  }

  /** Returns the number of bytes sent to the engine. */
  long bytesSent() {
    return bytesSent.get();
  }

  /**
   * Drops the next responses that match the pattern, and closes their connections.
   *
   * @param pattern the pattern of a response
   * @param times the number of responses to drop
   * @param partition whether all connections are refused after the last dropped response, until
   *     {@link #heal}
   */
  void dropResponses(Pattern pattern, int times, boolean partition) {
    this.responsePattern = pattern;
    partitionAfterDrop = partition;
    pendingDrops.set(times);
  }

  /** Returns the number of dropped responses. */
  int droppedResponses() {
    return droppedResponses.get();
  }

  /** Limits the bytes per second of all connections together; 0 removes the limit. */
  void throttle(long bytesPerSecond) {
    nextFreeNanos.set(System.nanoTime());
    this.bytesPerSecond = bytesPerSecond;
  }

  /** Sets parameters for every HTTP request to the engine, such as {@code readonly=1}. */
  void setExtraParameters(String parameters) {
    this.extraParameters = parameters;
  }

  /** Ends the partition. */
  void heal() {
    partitioned = false;
  }

  private void accept() {
    while (!server.isClosed()) {
      try {
        var client = server.accept();
        var engine = new Socket();
        open.add(client);
        open.add(engine);
        if (partitioned) {
          closeQuietly(client, engine);
          continue;
        }
        try {
          client.setTcpNoDelay(true);
          engine.setTcpNoDelay(true);
          engine.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), target), 2_000);
        } catch (IOException _) {
          closeQuietly(client, engine);
          continue;
        }
        Thread.ofVirtual().start(() -> forwardRequests(client, engine));
        Thread.ofVirtual().start(() -> forwardResponses(client, engine));
      } catch (IOException _) {
        // closed, or the client disconnected immediately
      }
    }
  }

  private void forwardRequests(Socket client, Socket engine) {
    try {
      var in = client.getInputStream();
      var out = engine.getOutputStream();
      var chunk = new byte[CHUNK];
      while (true) {
        int n = in.read(chunk, 0, bytesPerSecond == 0 ? CHUNK : SLOW_CHUNK);
        if (n < 0) {
          return;
        }
        awaitBandwidth(n);
        bytesSent.addAndGet(n);
        if (extraParameters.isEmpty()) {
          out.write(chunk, 0, n);
        } else {
          out.write(
              new String(chunk, 0, n, ISO_8859_1)
                  .replace("POST /?", "POST /?" + extraParameters + "&")
                  .getBytes(ISO_8859_1));
        }
      }
    } catch (IOException _) {
      // the connection is closed
    } finally {
      closeQuietly(client, engine);
    }
  }

  /** Delays a chunk until the bandwidth for the chunks before it is used up. */
  private void awaitBandwidth(int bytes) {
    long rate = bytesPerSecond;
    if (rate == 0) {
      return;
    }
    long mine =
        nextFreeNanos.updateAndGet(
            at -> Math.max(at, System.nanoTime()) + bytes * 1_000_000_000L / rate);
    while (bytesPerSecond != 0 && System.nanoTime() < mine) {
      LockSupport.parkNanos(Math.min(mine - System.nanoTime(), 50_000_000));
    }
  }

  private void forwardResponses(Socket client, Socket engine) {
    try {
      var in = engine.getInputStream();
      var out = client.getOutputStream();
      var chunk = new byte[CHUNK];
      for (int n = in.read(chunk); n >= 0; n = in.read(chunk)) {
        var pattern = responsePattern;
        if (pendingDrops.get() > 0
            && pattern != null
            && pattern.matcher(new String(chunk, 0, n, ISO_8859_1)).find()
            && pendingDrops.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
          if (partitionAfterDrop && pendingDrops.get() == 0) {
            partitioned = true;
            open.forEach(FaultInjectingProxy::closeQuietly);
          }
          droppedResponses.incrementAndGet();
          return;
        }
        out.write(chunk, 0, n);
      }
    } catch (IOException _) {
      // the connection is closed
    } finally {
      closeQuietly(client, engine);
    }
  }

  private void closeQuietly(Socket client, Socket engine) {
    open.remove(client);
    open.remove(engine);
    closeQuietly(client);
    closeQuietly(engine);
  }

  private static void closeQuietly(Socket socket) {
    try {
      socket.close();
    } catch (IOException _) {
      // already closed
    }
  }

  @Override
  public void close() {
    try {
      server.close();
    } catch (IOException _) {
      // already closed
    }
    open.forEach(FaultInjectingProxy::closeQuietly);
  }
}
