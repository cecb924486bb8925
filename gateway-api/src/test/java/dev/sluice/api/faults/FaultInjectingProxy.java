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
 * The way between the gateway and one engine, on which things go wrong when told to. Safe for use
 * by many threads; the port stays the same.
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
  private volatile long bytesPerSecond; // 0: as fast as it goes
  private volatile boolean partitioned;
  private volatile boolean partitionAfterDrop;

  /**
   * @param target loopback port of the engine
   */
  FaultInjectingProxy(int target) throws IOException {
    this.target = target;
    this.server = new ServerSocket(0, 64, InetAddress.getLoopbackAddress());
    Thread.ofVirtual().name("wire-" + target).start(this::accept);
  }

  int port() {
    return server.getLocalPort();
  }

  /** Bytes that went to the engine. */
  long bytesSent() {
    return bytesSent.get();
  }

  /**
   * The next answers that look like this never arrive: their connection ends instead.
   *
   * @param partition whether nothing passes after the last of them, until {@link #heal}
   */
  void dropResponses(Pattern pattern, int times, boolean partition) {
    this.responsePattern = pattern;
    partitionAfterDrop = partition;
    pendingDrops.set(times);
  }

  /** Answers that did not arrive. */
  int droppedResponses() {
    return droppedResponses.get();
  }

  /** What passes through in a second, all connections together; 0 for all there is. */
  void throttle(long bytesPerSecond) {
    nextFreeNanos.set(System.nanoTime());
    this.bytesPerSecond = bytesPerSecond;
  }

  /** Parameters that every HTTP request to the engine gets, such as {@code readonly=1}. */
  void setExtraParameters(String parameters) {
    this.extraParameters = parameters;
  }

  /** Lets everything pass again. */
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
        // closed, or a client that left at once
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
      // the connection is over
    } finally {
      closeQuietly(client, engine);
    }
  }

  /** Each chunk waits until those before it have had their time. */
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
      // the connection is over
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
      // as good as closed
    }
  }

  @Override
  public void close() {
    try {
      server.close();
    } catch (IOException _) {
      // as good as closed
    }
    open.forEach(FaultInjectingProxy::closeQuietly);
  }
}
